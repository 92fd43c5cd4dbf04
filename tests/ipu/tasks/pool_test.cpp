// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/ipu/tasks/pool.hpp>
#include <stagecraft/ipu/tasks/tasks.hpp>
#include <cstdint>
#include <doctest/doctest.h>
#include <random>

namespace sc = stagecraft;
using sc::dtype;
using sc::tiles::operation_cost;
using sc::tiles::pool_axis;
using sc::tiles::pool_function;
using sc::tiles::tensor_role;

namespace {

constexpr sc::ipu_target few_tiles(int tiles) {
  auto target = sc::ipu_targets::ipu2;
  target.tiles_per_ipu = tiles;
  return target;
}

constexpr pool_axis halved(std::int64_t length) {
  return {.input = length, .window = 2, .stride = 2, .output = length / 2};
}

constexpr operation_cost cost_of_max(sc::tiles::pool_shape const& shape, dtype type, sc::ipu_target const& target) {
  sc::tiles::lowered_step step;
  int const x = step.tensor(tensor_role::input, 0, type, shape.input_elements());
  int const y = step.tensor(tensor_role::output, 0, type, shape.output_elements());
  int const cells = step.tensor(tensor_role::saved, 0, dtype::uint8, shape.output_elements());
  append_pool(step, pool_function::max, {x}, {y, cells}, shape, target);
  return sc::tiles::cost_of(step, step.tasks[0], target);
}

// 4 x 4 x 2 floats on one tile: 128 bytes come, 32 and 8 go. A worker has one output: 32 cycles around, 13 for the
// work, 13 + 4 x 35 + 2 for the runs of the window's cells, 1: 201.
static_assert(cost_of_max({.batch = 1, .rows = halved(4), .columns = halved(4), .channels = 2}, dtype::float32,
                          few_tiles(1)) == operation_cost{.compute_cycles = 7 + 6 * 201 + 6,
                                                          .exchange_cycles = 32 + 10,
                                                          .sync_cycles = 2 * 126,
                                                          .flops = 8 * 4,
                                                          .bytes_exchanged = 128 + 40,
                                                          .exchanges = 2,
                                                          .compute_sets = 1,
                                                          .temporary_bytes = 128 + 32 + 8});
// 8 times as many channels on 8 tiles: the same each. Pieces of bytes are whole vectors of 8.
static_assert(cost_of_max({.batch = 1, .rows = halved(4), .columns = halved(4), .channels = 16}, dtype::float32,
                          few_tiles(8))
                  .compute_cycles == 7 + 6 * 201 + 6);

// Windows of 3 by steps of 2, one cell of padding before 6: 0..1, 1..3, 3..5.
constexpr pool_axis threes{.input = 6, .window = 3, .stride = 2, .before = 1, .output = 3};
static_assert(threes.inputs_of({0, 1}).first == 0 && threes.inputs_of({0, 1}).last == 2);
static_assert(threes.inputs_of({1, 3}).first == 1 && threes.inputs_of({1, 3}).last == 6);
static_assert(threes.windows_of({1, 2}).first == 0 && threes.windows_of({1, 2}).last == 2);
static_assert(threes.windows_of_input() == 2);
// Twice as many: output 3 lies a quarter of the way from input 1 to input 2, output 0 outside.
constexpr pool_axis doubled = pool_axis::interpolated(4, 2);
static_assert(doubled.place_of(3).lower == 1 && doubled.place_of(3).upper == 2 && doubled.place_of(3).weight == 0.25F);
static_assert(doubled.place_of(0).lower == 0 && doubled.place_of(0).upper == 0);
static_assert(doubled.outputs_beside({1, 2}).first == 1 && doubled.outputs_beside({1, 2}).last == 5);
static_assert(doubled.outputs_beside_input() == 4 && pool_axis::interpolated(4, 3).outputs_beside_input() == 5);

// Numbers of cells take as many bytes as on the host.
static_assert(sc::tiles::pool_shape{.rows = {.window = 16}, .columns = {.window = 16}}.position_bytes() == 1);
static_assert(sc::tiles::pool_shape{.rows = {.window = 16}, .columns = {.window = 17}}.position_bytes() == 2);

constexpr bool overlap(sc::tiles::pool_range const& range, std::int64_t index) {
  return range.first <= index && index < range.last;
}

}  // namespace

TEST_CASE("ranges along an axis hold all that is needed, and windows nothing else") {
  for (std::int64_t input = 1; input < 10; ++input)
    for (std::int64_t window = 1; window <= 5; ++window)
      for (std::int64_t stride = 1; stride <= 5; ++stride) {
        pool_axis axis{.input = input, .window = window, .stride = stride};
        axis.output = (input + stride - 1) / stride;
        std::int64_t const zeros = (axis.output - 1) * stride + window - input;
        axis.before = zeros > 0 ? zeros / 2 : 0;
        for (std::int64_t i = 0; i < input; ++i)
          for (std::int64_t k = 0; k < axis.output; ++k) {
            bool const inside = i >= k * stride - axis.before && i < k * stride - axis.before + window;
            CHECK(overlap(axis.inputs_of({k, k + 1}), i) == inside);
            CHECK(overlap(axis.windows_of({i, i + 1}), k) == inside);
          }
        auto const larger = pool_axis::interpolated(input, stride);
        for (std::int64_t i = 0; i < input; ++i)
          for (std::int64_t k = 0; k < larger.output; ++k) {
            auto const place = larger.place_of(k);
            if (place.lower != i && place.upper != i) continue;
            CHECK(overlap(larger.inputs_beside({k, k + 1}), i));
            CHECK(overlap(larger.outputs_beside({i, i + 1}), k));
          }
      }
}

TEST_CASE("parts of any field cover it once, and none needs or takes more than the cost says") {
  std::mt19937 random(3);
  auto const below = [&](int limit) { return std::uniform_int_distribution<int>(0, limit - 1)(random); };
  for (int test = 0; test < 300; ++test) {
    auto const axis = [&] {
      pool_axis result{.input = 1 + below(40), .stride = 1 + below(4)};
      result.window = 1 + below(static_cast<int>(result.input < 7 ? result.input : 7));
      result.output = (result.input - result.window) / result.stride + 1;
      return result;
    };
    sc::tiles::pool_work work{.function = static_cast<pool_function>(test % 8)};
    bool const interpolates =
        work.function == pool_function::bilinear || work.function == pool_function::bilinear_gradient;
    work.shape = {.batch = 1 + below(20), .rows = axis(), .columns = axis(), .channels = 1 + below(70)};
    if (interpolates) {
      work.shape.rows = pool_axis::interpolated(1 + below(20), 1 + below(4));
      work.shape.columns = pool_axis::interpolated(1 + below(20), 1 + below(4));
    }
    for (int const tiles : {1, 3, 8, 64, 1472}) {
      CAPTURE(test);
      CAPTURE(tiles);
      auto const target = few_tiles(tiles);
      auto const type = below(2) == 0 ? dtype::float32 : dtype::float16;
      auto const split = sc::detail::pool_splitter(work, type, target).split();
      CHECK(split.tiles() <= tiles);
      std::int64_t covered = 0, needed = 0, cycles = 0;
      for (int tile = 0; tile < split.tiles(); ++tile) {
        auto const result = split.result_of(tile);
        covered += result.elements();
        needed = sc::detail::larger(needed, split.needed(result).elements());
        cycles = sc::detail::larger(cycles, split.cycles(result, type, target));
      }
      CHECK(covered == split.extent(0) * split.extent(1) * split.extent(2) * split.extent(3));
      CHECK(needed == split.most_needed());
      CHECK(cycles == split.most_cycles(type, target));
    }
  }
}

TEST_CASE("large fields use most of the tiles") {
  auto const target = sc::ipu_targets::ipu2;
  for (std::int64_t const batch : {1, 4, 16, 100, 1000})
    for (std::int64_t const length : {112, 56, 28}) {
      CAPTURE(batch);
      CAPTURE(length);
      sc::tiles::pool_work const work{
          .function = pool_function::max,
          .shape = {.batch = batch, .rows = halved(length), .columns = halved(length), .channels = 64}};
      auto const split = sc::detail::pool_splitter(work, dtype::float16, target).split();
      CHECK(split.tiles() >= target.tiles_per_ipu / 2);
    }
}
