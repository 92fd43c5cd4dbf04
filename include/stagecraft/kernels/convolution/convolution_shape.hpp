// SPDX-License-Identifier: BSD-3-Clause
// Everything about a convolution but the batch size, as one compile-time value.
#pragma once

#include <stagecraft/kernels/product/packed_matrix.hpp>

namespace stagecraft::kernels {

/// A 2-D convolution of one sample, channels last: input (height, width, channels), output (output_height(),
/// output_width(), filters). A 1-D convolution has height 1. `top` to `right` are zeros around the input.
/// The kernel is Keras's (kernel_height, kernel_width, channels / groups, filters).
struct convolution_shape {
  int height = 1, width = 1, channels = 1;
  int filters = 1;
  int kernel_height = 1, kernel_width = 1;
  int stride_height = 1, stride_width = 1;
  int dilation_height = 1, dilation_width = 1;
  int groups = 1;
  int top = 0, left = 0, bottom = 0, right = 0;

  [[nodiscard]] constexpr int padded_height() const noexcept { return top + height + bottom; }
  [[nodiscard]] constexpr int padded_width() const noexcept { return left + width + right; }
  [[nodiscard]] constexpr bool has_padding() const noexcept { return top > 0 || left > 0 || bottom > 0 || right > 0; }
  [[nodiscard]] constexpr int output_height() const noexcept {
    return (padded_height() - (kernel_height - 1) * dilation_height - 1) / stride_height + 1;
  }
  [[nodiscard]] constexpr int output_width() const noexcept {
    return (padded_width() - (kernel_width - 1) * dilation_width - 1) / stride_width + 1;
  }
  /// Channels and filters of one group.
  [[nodiscard]] constexpr int group_channels() const noexcept { return channels / groups; }
  [[nodiscard]] constexpr int group_filters() const noexcept { return filters / groups; }
  /// Products that are summed for one output.
  [[nodiscard]] constexpr int steps() const noexcept { return kernel_height * kernel_width * group_channels(); }
  [[nodiscard]] constexpr int input_size() const noexcept { return height * width * channels; }
  [[nodiscard]] constexpr int output_size() const noexcept { return output_height() * output_width() * filters; }
  /// True if it is a product of all pixels with one matrix.
  [[nodiscard]] constexpr bool is_product() const noexcept {
    return kernel_height == 1 && kernel_width == 1 && stride_height == 1 && stride_width == 1 && groups == 1 &&
           !has_padding();
  }
  /// Multiply-adds count as two.
  [[nodiscard]] constexpr long long flops() const noexcept { return 2LL * steps() * output_size(); }

  friend constexpr bool operator==(convolution_shape const&, convolution_shape const&) = default;
};

/// The layout of the kernel: one packed matrix per group, one after the other, whose rows count (kernel row, kernel
/// column, channel of the group) and whose columns count the group's filters.
template <convolution_shape Shape, class Arch = default_architecture>
using packed_filter = packed_matrix<Shape.steps(), Shape.group_filters(), Arch>;

/// Floats of the whole kernel in that layout.
template <convolution_shape Shape, class Arch = default_architecture>
inline constexpr long long filter_floats = static_cast<long long>(Shape.groups) * packed_filter<Shape, Arch>::size;

}  // namespace stagecraft::kernels
