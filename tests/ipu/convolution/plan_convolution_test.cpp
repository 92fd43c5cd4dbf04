// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/ipu/convolution/plan_convolution.hpp>
#include <algorithm>
#include <cstddef>
#include <doctest/doctest.h>
#include <string>
#include <utility>
#include "exhaustive_plan.hpp"
#include "resnet50_shapes.hpp"

namespace sc = stagecraft;
using plan_tests::exhaustive_plan;
using plan_tests::resnet50_layers;
using plan_tests::square_convolution;
using sc::convolution_shape;
using sc::dtype;
using sc::plan_convolution;
using sc::ipu_targets::ipu2;
using sc::tiles::convolution_plan;

namespace {

constexpr sc::poplar_options half_partials{.partials_type = dtype::float16};

// Plans are constants, also as template arguments.
template <convolution_plan Plan>
struct step {
  static constexpr auto cycles = Plan.cycles.total();
};
constexpr auto hidden = convolution_shape::matmul(dtype::float32, 32, 784, 256);  // of a perceptron for MNIST
constexpr auto hidden_plan = plan_convolution(hidden, ipu2);
static_assert(step<hidden_plan>::cycles == hidden_plan.cycles.total());
static_assert(hidden_plan.vertex == sc::tiles::convolution_vertex::conv_partial_1x1);
static_assert(hidden_plan.macs == 32 * 784 * 256 && hidden_plan.tiles_used() <= 1472);
static_assert(hidden_plan.partition.reduction_depth() > 1 && hidden_plan.reduce_stages > 0);
static_assert(hidden_plan.memory_bound_percent == 60);
static_assert(plan_convolution(hidden.input_gradient(), ipu2).cycles.total() > 0);
static_assert(plan_convolution(hidden.filter_gradient(), ipu2).cycles.total() > 0);
static_assert(plan_convolution(convolution_shape::matmul(dtype::float32, 32, 256, 128), ipu2).cycles.total() <
              hidden_plan.cycles.total());
static_assert(plan_convolution(convolution_shape::matmul(dtype::float32, 32, 128, 10), ipu2).tiles_used() > 100);

// Large products of square matrices keep most of the units busy: about two thirds of them, since inputs and partial
// sums have to be exchanged and added, and memory asks for serial parts.
constexpr auto large = convolution_shape::matmul(dtype::float16, 4096, 4096, 4096);
constexpr auto large_plan = plan_convolution(large, ipu2, half_partials);
static_assert(large_plan.utilisation(ipu2, dtype::float16) > 0.5 &&
              large_plan.utilisation(ipu2, dtype::float16) < 0.85);
static_assert(large_plan.partition.serial_splits() > 1);
static_assert(large_plan.temporary_bytes <= 0.6 * 624 * 1024);
constexpr auto large_floats = convolution_shape::matmul(dtype::float32, 4096, 4096, 4096);
constexpr auto large_floats_plan = plan_convolution(large_floats, ipu2);
static_assert(large_floats_plan.utilisation(ipu2, dtype::float32) > 0.55);
static_assert(large_floats_plan.utilisation(ipu2, dtype::float32) < 0.85);
// Half the rate with partial sums of float32, a quarter with operands of float32.
constexpr auto mixed_plan = plan_convolution(large, ipu2);
static_assert(mixed_plan.cycles.total() * 10 > large_plan.cycles.total() * 15);
static_assert(mixed_plan.cycles.total() * 10 < large_plan.cycles.total() * 25);
static_assert(large_floats_plan.cycles.total() > 3 * large_plan.cycles.total());
static_assert(large_plan.flops_per_second(ipu2) < 250e12 && large_floats_plan.flops_per_second(ipu2) < 62.6e12);

// All convolutions of ResNet-50 and their gradients, each a constant of its own, within the compilers' limits.
template <std::size_t Layer, sc::convolution_pass Pass>
constexpr convolution_plan resnet50_plan = [] {
  auto const shape = plan_tests::resnet50_convolution(resnet50_layers[Layer], dtype::float16);
  return plan_convolution(Pass == sc::convolution_pass::forward          ? shape
                          : Pass == sc::convolution_pass::input_gradient ? shape.input_gradient()
                                                                         : shape.filter_gradient(),
                          ipu2);
}();
template <std::size_t... Layers>
constexpr std::int64_t cycles_of_all(std::index_sequence<Layers...>) {
  using enum sc::convolution_pass;
  return ((resnet50_plan<Layers, forward>.cycles.total() + resnet50_plan<Layers, input_gradient>.cycles.total() +
           resnet50_plan<Layers, filter_gradient>.cycles.total()) +
          ...);
}
constexpr auto resnet50_cycles = cycles_of_all(std::make_index_sequence<resnet50_layers.size()>{});
static_assert(resnet50_cycles > 60 * 5'000 && resnet50_cycles < 60 * 60'000);

// The most to look at: little memory, or as little as possible.
constexpr auto kernel_gradient = square_convolution(dtype::float16, 4, 56, 64, 64, 3, 1).filter_gradient();
static_assert(plan_convolution(kernel_gradient, ipu2, {.available_memory_proportion = 0.02F}).temporary_bytes <
              0.05 * 624 * 1024);
static_assert(plan_convolution(kernel_gradient, ipu2, {.available_memory_proportion = 0}).temporary_bytes <
              0.02 * 624 * 1024);

double ratio_to_exhaustive(convolution_shape const& shape, sc::ipu_target const& target,
                           sc::poplar_options const& options = {}, int most_serial_parts = 1) {
  auto const found = plan_convolution(shape, target, options);
  auto const best = exhaustive_plan(shape, target, options, most_serial_parts);
  INFO(std::string(found.text().view()), std::string(best.text().view()));
  CHECK(found.tiles_used() <= target.tiles_per_ipu);
  CHECK(found.utilisation(target, shape.input) <= 1);
  CHECK(best.cycles.total() > 0);
  return static_cast<double>(found.cycles.total()) / static_cast<double>(best.cycles.total());
}
sc::ipu_target with_tiles(int tiles) {
  auto target = ipu2;
  target.tiles_per_ipu = tiles;
  return target;
}

}  // namespace

TEST_CASE("ResNet-50's plans are the best of all, up to 2 percent") {
  double sum = 0;
  int count = 0;
  for (auto const type : {dtype::float16, dtype::float32})
    for (auto const& layer : resnet50_layers) {
      auto const shape = plan_tests::resnet50_convolution(layer, type);
      for (auto const& pass : {shape, shape.input_gradient(), shape.filter_gradient()}) {
        CAPTURE(layer.size);
        CAPTURE(layer.in);
        CAPTURE(layer.out);
        CAPTURE(layer.kernel);
        CAPTURE(static_cast<int>(pass.pass));
        double const ratio = ratio_to_exhaustive(pass, ipu2);
        CHECK(ratio < 1.02);
        CHECK(ratio > 0.999999);
        sum += ratio;
        ++count;
      }
    }
  CHECK(sum / count < 1.002);
}

TEST_CASE("other plans are near the best of all, on machines of any size") {
  double sum = 0;
  int count = 0;
  for (int const tiles : {1, 2, 7, 16, 60, 100, 333, 736})
    for (auto const& shape : {square_convolution(dtype::float16, 4, 28, 64, 64, 3, 1),
                              square_convolution(dtype::float16, 2, 28, 32, 64, 1, 2),
                              square_convolution(dtype::float32, 4, 7, 64, 128, 3, 1),
                              square_convolution(dtype::float32, 1, 28, 1, 16, 5, 1),
                              square_convolution(dtype::float16, 2, 14, 64, 64, 3, 1, 64),
                              square_convolution(dtype::float32, 1, 14, 32, 64, 3, 2, 8),
                              square_convolution(dtype::float16, 2, 28, 50, 18, 5, 3),
                              square_convolution(dtype::float16, 1, 28, 4, 4, 3, 1),
                              convolution_shape::matmul(dtype::float32, 32, 784, 256),
                              convolution_shape::matmul(dtype::float16, 1, 100, 1000),
                              convolution_shape::matmul(dtype::float16, 256, 1, 256),
                              convolution_shape::matmul(dtype::float32, 20, 64, 48, 12)})
      for (auto const& pass : {shape, shape.input_gradient(), shape.filter_gradient()}) {
        // Few tiles have to do much one after the other.
        auto const ratio = ratio_to_exhaustive(pass, with_tiles(tiles), half_partials, tiles < 20 ? 32 : 1);
        CAPTURE(tiles);
        CHECK(ratio < 1.1);
        sum += ratio;
        ++count;
      }
  CHECK(sum / count < 1.01);
}

TEST_CASE("serial parts are chosen well where memory is short") {
  CHECK(ratio_to_exhaustive(convolution_shape::matmul(dtype::float16, 2048, 2048, 2048), ipu2, {}, 16) < 1.05);
  CHECK(ratio_to_exhaustive(convolution_shape::matmul(dtype::float32, 2048, 2048, 2048), ipu2, {}, 16) < 1.05);
  CHECK(ratio_to_exhaustive(convolution_shape::matmul(dtype::float16, 128, 65536, 512), sc::ipu_targets::ipu1, {}, 16) <
        1.05);
  CHECK(ratio_to_exhaustive(convolution_shape::matmul(dtype::float32, 65536, 256, 1024), ipu2, {}, 16) < 1.05);
  sc::poplar_options const little{.available_memory_proportion = 0.1F};
  auto const shape = square_convolution(dtype::float16, 4, 56, 64, 64, 3, 1);
  CHECK(ratio_to_exhaustive(shape, sc::ipu_targets::ipu1, little, 8) < 1.1);
  CHECK(ratio_to_exhaustive(shape.input_gradient(), sc::ipu_targets::ipu1, little, 8) < 1.1);
  CHECK(ratio_to_exhaustive(shape.filter_gradient(), sc::ipu_targets::ipu1, little, 8) < 1.1);
}

TEST_CASE("the bound on memory is kept, doubled, given up") {
  auto const shape = square_convolution(dtype::float16, 4, 56, 64, 64, 3, 1);
  auto const at = [&](float proportion) {
    return plan_convolution(shape, ipu2, {.available_memory_proportion = proportion});
  };
  std::int64_t slower = 0;
  for (float const proportion : {1.0F, 0.6F, 0.1F, 0.05F, 0.02F, 0.01F}) {
    auto const plan = at(proportion);
    CAPTURE(proportion);
    CHECK(plan.temporary_bytes <=
          plan.memory_bound_percent / 100.0 * ipu2.bytes_per_tile + 0.005 * ipu2.bytes_per_tile);
    CHECK(plan.cycles.total() >= slower * 0.99);
    slower = plan.cycles.total();
  }
  // No plan takes nothing. Of all plans, that with least memory takes less than any other.
  auto const least = at(0);
  CHECK(least.memory_bound_percent == 0);
  CHECK(least.temporary_bytes < at(0.01F).temporary_bytes);
  auto tiny = with_tiles(1);
  tiny.bytes_per_tile = 2048;
  auto const impossible = plan_convolution(convolution_shape::matmul(dtype::float32, 4096, 64, 64), tiny);
  CHECK(impossible.memory_bound_percent == -1);
  CHECK(impossible.temporary_bytes > 4096);
  tiny.bytes_per_tile = impossible.temporary_bytes;
  auto const doubled = plan_convolution(convolution_shape::matmul(dtype::float32, 4096, 64, 64), tiny,
                                        {.available_memory_proportion = 0.01F});
  CHECK(doubled.memory_bound_percent > 1);
  CHECK(plan_convolution(shape, ipu2, {.available_memory_proportion = 1e-9F}).memory_bound_percent >= 0);
}

TEST_CASE("twice the batch takes about twice the cycles") {
  for (auto const type : {dtype::float16, dtype::float32}) {
    std::int64_t before = 0;
    for (int batch = 8; batch <= 64; batch *= 2) {
      auto const shape = square_convolution(type, batch, 28, 128, 128, 3, 1);
      auto const cycles = plan_convolution(shape, ipu2).cycles.total() +
                          plan_convolution(shape.input_gradient(), ipu2).cycles.total() +
                          plan_convolution(shape.filter_gradient(), ipu2).cycles.total();
      CAPTURE(batch);
      if (before > 0) {
        CHECK(cycles < 2.1 * before);
        CHECK(cycles > 1.5 * before);
      }
      before = cycles;
    }
  }
}

TEST_CASE("more tiles are not slower") {
  auto const shape = square_convolution(dtype::float16, 4, 14, 256, 256, 3, 1);
  for (auto const& pass : {shape, shape.input_gradient(), shape.filter_gradient(),
                           convolution_shape::matmul(dtype::float32, 512, 512, 512)}) {
    std::int64_t least = INT64_MAX;
    for (int tiles = 1; tiles <= 1472; tiles += 1 + tiles / 8) {
      auto const cycles = plan_convolution(pass, with_tiles(tiles)).cycles.total();
      CAPTURE(tiles);
      CHECK(static_cast<double>(cycles) <= 1.05 * static_cast<double>(least));
      least = std::min(least, cycles);
    }
  }
}

TEST_CASE("larger products use the units better") {
  double before = 0;
  for (int size = 64; size <= 2048; size *= 2) {
    auto const used = plan_convolution(convolution_shape::matmul(dtype::float32, size, size, size), ipu2)
                          .utilisation(ipu2, dtype::float32);
    CHECK(used > before);
    CHECK(used <= 1);
    before = used;
  }
}

TEST_CASE("a plan says what it does") {
  std::string const text(large_plan.text().view());
  CAPTURE(text);
  CHECK(text.starts_with("conv_partial_1x1, float16 partial sums, groups of 16 x 16 channels\nsplits: "));
  CHECK(text.find(" serial out channels ") != std::string::npos);
  CHECK(text.find("\ncycles: " + std::to_string(large_plan.cycles.total()) + " = ") != std::string::npos);
  CHECK(text.ends_with("temporary bytes per tile: " + std::to_string(large_plan.temporary_bytes) + "\n"));
}
