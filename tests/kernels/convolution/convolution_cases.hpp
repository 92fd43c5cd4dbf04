// SPDX-License-Identifier: BSD-3-Clause
// What the tests of the convolutions share: the shapes to try, and a filter in both layouts.
#pragma once

#include <stagecraft/kernels/convolution/convolution_shape.hpp>
#include <stagecraft/threads/share.hpp>

#include <functional>
#include <vector>

#include "../product/matmul_cases.hpp"

namespace convolution_cases {

using namespace matmul_cases;
using kernels::convolution_shape;

/// From (kernel_height, kernel_width, channels / groups, filters), row by row, to one packed matrix per group.
template <convolution_shape Shape, class Arch>
void pack_filter(float const* row_major, float* packed) {
  using layout = kernels::packed_filter<Shape, Arch>;
  constexpr int filters = Shape.group_filters();
  std::vector<float> group(static_cast<std::size_t>(Shape.steps()) * filters);
  for (int g = 0; g < Shape.groups; ++g) {
    for (int row = 0; row < Shape.steps(); ++row)
      for (int f = 0; f < filters; ++f)
        group[static_cast<std::size_t>(row * filters + f)] = row_major[row * Shape.filters + g * filters + f];
    layout::pack(group.data(), packed + g * layout::size);
  }
}

/// A batch size, a shape and an instruction set. The checks get to know these at run time only, and kernels as
/// pointers, so that a shape costs no more compile time than its kernels.
struct convolution_case {
  int batch;
  convolution_shape shape;
  int lanes;
  /// Floats of the packed filter.
  int packed;
  /// From (kernel_height, kernel_width, channels / groups, filters), row by row.
  void (*pack)(float const* row_major, float* packed);

  [[nodiscard]] int inputs() const { return batch * shape.input_size(); }
  [[nodiscard]] int outputs() const { return batch * shape.output_size(); }
  [[nodiscard]] int weights() const { return shape.steps() * shape.filters; }
};

template <int Batch, convolution_shape Shape, class Arch>
inline constexpr convolution_case case_of = {Batch, Shape, kernels::lanes<Arch>,
                                             static_cast<int>(kernels::filter_floats<Shape, Arch>),
                                             &pack_filter<Shape, Arch>};

/// Fractions from -1 to 1, whose sums depend on the order.
inline void fill_with_fractions(buffer& values, unsigned seed) {
  for (int i = 0; i < values.size(); ++i) {
    seed = seed * 1664525U + 1013904223U;
    values.data()[i] = static_cast<float>(static_cast<int>(seed >> 8U) - (1 << 23)) / static_cast<float>(1 << 23);
  }
}

/// Runs kernel(part) for every part of 1, 2, 3 and 7 and checks that what it leaves in `result` is always the same.
inline void check_shares(buffer& result, std::function<void(kernels::share)> const& kernel) {
  std::vector<float> const before(result.data(), result.data() + result.size());
  kernel(kernels::share{});
  std::vector<float> const whole(result.data(), result.data() + result.size());
  for (int count : {2, 3, 7}) {
    for (int i = 0; i < result.size(); ++i) result.data()[i] = before[static_cast<std::size_t>(i)];
    for (int index = count - 1; index >= 0; --index) kernel(kernels::share{index, count});
    CAPTURE(count);
    CHECK(first_difference(result.data(), whole.data(), result.size()) == -1);
  }
}

/// Calls test.operator()<Batch, Shape>() for shapes around the registers' and the tiles' sizes.
template <class Test>
void for_each_convolution(Test const& test) {
  // 1 x 1 everything; a single output; one row; one column of outputs.
  test.template operator()<1, convolution_shape{}>();
  test.template
  operator()<2, convolution_shape{
                    .height = 3, .width = 3, .channels = 2, .filters = 5, .kernel_height = 3, .kernel_width = 3}>();
  test.template operator()<2, convolution_shape{.width = 23, .channels = 3, .filters = 17, .kernel_width = 5}>();
  test.template
  operator()<1, convolution_shape{
                    .height = 9, .width = 3, .channels = 4, .filters = 10, .kernel_height = 2, .kernel_width = 3}>();
  // The small CNN's layers, smaller: several panels at once, and several blocks of outputs, of samples and of rows.
  test.template
  operator()<4, convolution_shape{.height = 13, .width = 12, .filters = 128, .kernel_height = 3, .kernel_width = 3}>();
  test.template operator()<1, convolution_shape{.height = 30,
                                                .width = 26,
                                                .channels = 8,
                                                .filters = 64,
                                                .kernel_height = 3,
                                                .kernel_width = 3,
                                                .top = 1,
                                                .left = 1,
                                                .bottom = 1,
                                                .right = 1}>();
  // 1 x 1 kernels, with and without strides.
  test.template operator()<2, convolution_shape{.height = 5, .width = 7, .channels = 19, .filters = 33}>();
  test.template
  operator()<2, convolution_shape{
                    .height = 17, .width = 22, .channels = 29, .filters = 80, .stride_height = 2, .stride_width = 2}>();
  // Padding on all sides and on some.
  test.template operator()<9, convolution_shape{.height = 7,
                                                .width = 7,
                                                .channels = 16,
                                                .filters = 70,
                                                .kernel_height = 3,
                                                .kernel_width = 3,
                                                .top = 1,
                                                .left = 1,
                                                .bottom = 1,
                                                .right = 1}>();
  test.template operator()<1, convolution_shape{.height = 2,
                                                .width = 1,
                                                .channels = 5,
                                                .filters = 17,
                                                .kernel_height = 5,
                                                .kernel_width = 4,
                                                .top = 2,
                                                .left = 1,
                                                .bottom = 2,
                                                .right = 2}>();
  test.template
  operator()<2, convolution_shape{.width = 11, .channels = 3, .filters = 4, .kernel_width = 4, .left = 3}>();
  // Strides: smaller, as large and larger than the kernel; with padding.
  test.template operator()<2, convolution_shape{.height = 15,
                                                .width = 17,
                                                .channels = 3,
                                                .filters = 20,
                                                .kernel_height = 7,
                                                .kernel_width = 7,
                                                .stride_height = 2,
                                                .stride_width = 2,
                                                .top = 3,
                                                .left = 3,
                                                .bottom = 3,
                                                .right = 3}>();
  test.template operator()<1, convolution_shape{.height = 12,
                                                .width = 13,
                                                .channels = 2,
                                                .filters = 3,
                                                .kernel_height = 2,
                                                .kernel_width = 3,
                                                .stride_height = 2,
                                                .stride_width = 5}>();
  test.template operator()<1, convolution_shape{.height = 14,
                                                .width = 11,
                                                .channels = 17,
                                                .filters = 6,
                                                .kernel_height = 3,
                                                .kernel_width = 2,
                                                .stride_height = 3,
                                                .stride_width = 1,
                                                .top = 0,
                                                .left = 1,
                                                .bottom = 1,
                                                .right = 0}>();
  // Dilation, alone, with padding, and with strides that share a factor with it.
  test.template operator()<2, convolution_shape{.height = 9,
                                                .width = 10,
                                                .channels = 3,
                                                .filters = 18,
                                                .kernel_height = 3,
                                                .kernel_width = 2,
                                                .dilation_height = 2,
                                                .dilation_width = 3,
                                                .top = 2,
                                                .left = 1,
                                                .bottom = 1,
                                                .right = 2}>();
  test.template operator()<1, convolution_shape{.height = 13,
                                                .width = 17,
                                                .channels = 4,
                                                .filters = 5,
                                                .kernel_height = 3,
                                                .kernel_width = 3,
                                                .stride_height = 4,
                                                .stride_width = 3,
                                                .dilation_height = 2,
                                                .dilation_width = 2,
                                                .top = 3,
                                                .left = 2,
                                                .bottom = 2,
                                                .right = 1}>();
  // More steps than are summed at once.
  test.template operator()<1, convolution_shape{.height = 4,
                                                .width = 3,
                                                .channels = 260,
                                                .filters = 20,
                                                .kernel_height = 3,
                                                .kernel_width = 3,
                                                .top = 1,
                                                .left = 1,
                                                .bottom = 1,
                                                .right = 1}>();
  // Groups, down to one channel of each.
  test.template operator()<2, convolution_shape{.height = 6,
                                                .width = 5,
                                                .channels = 6,
                                                .filters = 9,
                                                .kernel_height = 3,
                                                .kernel_width = 3,
                                                .groups = 3,
                                                .top = 1,
                                                .left = 1,
                                                .bottom = 1,
                                                .right = 1}>();
  test.template operator()<1, convolution_shape{.height = 5,
                                                .width = 4,
                                                .channels = 40,
                                                .filters = 36,
                                                .kernel_height = 2,
                                                .kernel_width = 2,
                                                .groups = 2}>();
  test.template operator()<
      1,
      convolution_shape{
          .height = 4, .width = 4, .channels = 5, .filters = 10, .kernel_height = 3, .kernel_width = 3, .groups = 5}>();
}

/// The same for depthwise convolutions.
template <class Test>
void for_each_depthwise_convolution(Test const& test) {
  test.template operator()<1, convolution_shape{}>();
  test.template operator()<2, convolution_shape{.height = 8,
                                                .width = 9,
                                                .channels = 16,
                                                .filters = 16,
                                                .kernel_height = 3,
                                                .kernel_width = 3,
                                                .groups = 16,
                                                .top = 1,
                                                .left = 1,
                                                .bottom = 1,
                                                .right = 1}>();
  test.template operator()<1, convolution_shape{.height = 9,
                                                .width = 13,
                                                .channels = 35,
                                                .filters = 35,
                                                .kernel_height = 3,
                                                .kernel_width = 3,
                                                .stride_height = 2,
                                                .stride_width = 2,
                                                .groups = 35,
                                                .top = 0,
                                                .left = 0,
                                                .bottom = 1,
                                                .right = 1}>();
  test.template operator()<
      2,
      convolution_shape{
          .height = 7, .width = 6, .channels = 5, .filters = 10, .kernel_height = 2, .kernel_width = 3, .groups = 5}>();
  test.template operator()<1, convolution_shape{.height = 6,
                                                .width = 19,
                                                .channels = 17,
                                                .filters = 51,
                                                .kernel_height = 3,
                                                .kernel_width = 5,
                                                .groups = 17,
                                                .top = 1,
                                                .left = 2,
                                                .bottom = 1,
                                                .right = 2}>();
  test.template operator()<2, convolution_shape{.height = 11,
                                                .width = 10,
                                                .channels = 3,
                                                .filters = 3,
                                                .kernel_height = 3,
                                                .kernel_width = 2,
                                                .dilation_height = 2,
                                                .dilation_width = 3,
                                                .groups = 3,
                                                .top = 2,
                                                .left = 3,
                                                .bottom = 2,
                                                .right = 0}>();
  test.template operator()<1, convolution_shape{.height = 9,
                                                .width = 12,
                                                .channels = 64,
                                                .filters = 64,
                                                .kernel_height = 2,
                                                .kernel_width = 2,
                                                .stride_height = 3,
                                                .stride_width = 4,
                                                .groups = 64}>();
  // Channels in two blocks, the last of which ends within a register.
  test.template
  operator()<2, convolution_shape{
                    .width = 31, .channels = 210, .filters = 210, .kernel_width = 4, .groups = 210, .left = 3}>();
}

}  // namespace convolution_cases
