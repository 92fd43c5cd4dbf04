// SPDX-License-Identifier: BSD-3-Clause
// Products and convolutions of whole numbers of 8 bits: the sums of plain loops, exactly, with every instruction set of
// the build and without registers, for any number of threads.
#include <stagecraft/kernels/convolution/byte_convolution.hpp>
#include <stagecraft/kernels/simd/portable_registers.hpp>
#include <cstdint>
#include <doctest/doctest.h>
#include <vector>

#include "../product/reference_matmul.hpp"
#include "convolution_cases.hpp"
#include "reference_convolution.hpp"

using namespace convolution_cases;

namespace {

/// Whole numbers from least to least + 255, the ends among them.
void fill_with_bytes(buffer& x, int least, unsigned state) {
  for (int i = 0; i < x.size(); ++i) {
    state = state * 1664525U + 1013904223U;
    x.data()[i] = static_cast<float>(least + (i % 7 == 0 ? 255 : i % 11 == 0 ? 0 : static_cast<int>(state >> 24U)));
  }
}

struct byte_case {
  convolution_case about;
  int kernel, bytes;
  void (*pack)(float const* w, float const* bias, int shift, float* to);
  void (*round)(float const* x, int shift, std::uint8_t* to, kernels::share part);
  void (*run)(std::uint8_t const* x, float const* w, float* y, float const* bias, kernels::share part);
};

template <int Batch, convolution_shape Shape, class Arch>
constexpr byte_case byte_case_of = {
    case_of<Batch, Shape, Arch>,
    static_cast<int>(kernels::byte_filter<Shape, Arch>::floats),
    static_cast<int>(kernels::byte_picture_floats<Batch, Shape>),
    &kernels::byte_filter<Shape, Arch>::pack,
    &kernels::picture_to_bytes<Batch, Shape, Arch>,
    [](std::uint8_t const* x, float const* w, float* y, float const* bias, kernels::share part) {
      kernels::convolution_of_bytes<Batch, Shape, Arch>(x, w, y, kernels::bias_epilogue{bias}, part);
    }};

void check(byte_case const& tested, int shift) {
  auto const& about = tested.about;
  CAPTURE(about.shape.height);
  CAPTURE(about.shape.channels);
  CAPTURE(about.shape.filters);
  CAPTURE(about.lanes);
  CAPTURE(shift);
  buffer x(about.inputs()), w(about.weights()), own(about.packed), packed(tested.kernel), bytes(tested.bytes),
      again(tested.bytes), bias(about.shape.filters), none((about.shape.filters + 63) / 64 * 64), y(about.outputs());
  fill_with_bytes(x, -shift, 1), fill_with_bytes(w, -128, 2), fill_with_bytes(bias, -100, 3);
  for (int i = 0; i < bias.size(); ++i) bias.data()[i] *= 8191.0F;
  std::vector<std::int64_t> sums(static_cast<std::size_t>(about.outputs()));
  for (std::size_t i = 0; i < sums.size(); ++i)
    sums[i] = static_cast<std::int64_t>(bias.data()[i % static_cast<std::size_t>(bias.size())]);
  kernels::reference::detail::for_each_product(about.batch, about.shape, [&](int in, int weight, int out) {
    sums[static_cast<std::size_t>(out)] += static_cast<std::int64_t>(x.data()[in]) * static_cast<int>(w.data()[weight]);
  });
  buffer expected(about.outputs());
  for (std::size_t i = 0; i < sums.size(); ++i) expected.data()[i] = static_cast<float>(sums[i]);

  about.pack(w.data(), own.data());
  tested.pack(own.data(), bias.data(), shift, packed.data());
  auto* const to = reinterpret_cast<std::uint8_t*>(bytes.data());
  tested.round(x.data(), shift, to, {});
  check_shares(y, [&](kernels::share part) { tested.run(to, packed.data(), y.data(), none.data(), part); });
  CHECK(first_difference(y.data(), expected.data(), y.size()) == -1);
  CHECK(y.guard_is_intact());
  CHECK(packed.guard_is_intact());
  CHECK(bytes.guard_is_intact());

  // Fractions are rounded, and numbers that no byte has become the nearest one.
  for (int i = 0; i < x.size(); ++i) {
    float const value = x.data()[i] + static_cast<float>(shift);
    x.data()[i] += value == 255.0F ? 1e6F : value == 0.0F ? -1e6F : i % 3 == 0 ? 0.25F : i % 3 == 1 ? -0.25F : 0.0F;
  }
  auto* const nearest = reinterpret_cast<std::uint8_t*>(again.data());
  for (int part = 2; part >= 0; --part) tested.round(x.data(), shift, nearest, kernels::share{part, 3});
  tested.run(nearest, packed.data(), y.data(), none.data(), {});
  CHECK(first_difference(y.data(), expected.data(), y.size()) == -1);
}

template <int Batch, convolution_shape Shape, class... Arch>
void check_on(int shift) {
  (check(byte_case_of<Batch, Shape, Arch>, shift), ...);
}
template <int Batch, convolution_shape Shape>
void check_all(int shift) {
  check_on<Batch, Shape, MATMUL_ARCHITECTURES, kernels::portable_architecture>(shift);
}

}  // namespace

TEST_CASE("products of bytes are exact") {
  check_all<1, convolution_shape{}>(0);
  check_all<3, convolution_shape{.channels = 37, .filters = 130}>(120);
  check_all<2, convolution_shape{.width = 7, .channels = 64, .filters = 16}>(255);
  check_all<2, convolution_shape{.channels = 4200, .filters = 17}>(128);  // more steps than are summed at once
}

TEST_CASE("convolutions of bytes are exact, zeros around them included") {
  check_all<2, convolution_shape{.height = 9,
                                 .width = 11,
                                 .channels = 32,
                                 .filters = 32,
                                 .kernel_height = 3,
                                 .kernel_width = 3,
                                 .top = 1,
                                 .left = 1,
                                 .bottom = 1,
                                 .right = 1}>(100);
  check_all<1, convolution_shape{.height = 8,
                                 .width = 7,
                                 .channels = 3,
                                 .filters = 19,
                                 .kernel_height = 3,
                                 .kernel_width = 2,
                                 .stride_height = 2,
                                 .stride_width = 2,
                                 .top = 2,
                                 .right = 1}>(0);
  check_all<2, convolution_shape{.height = 5,
                                 .width = 6,
                                 .channels = 14,
                                 .filters = 6,
                                 .kernel_height = 3,
                                 .kernel_width = 3,
                                 .dilation_width = 2,
                                 .groups = 2,
                                 .left = 2,
                                 .right = 2}>(255);
  check_all<1, convolution_shape{
                   .height = 3, .width = 4, .channels = 1000, .filters = 17, .kernel_height = 3, .kernel_width = 3}>(7);
}
