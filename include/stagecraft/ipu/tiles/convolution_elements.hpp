// SPDX-License-Identifier: BSD-3-Clause
// Which element of a tensor stands at an index of a transformed convolution.
#pragma once

#include <stagecraft/ipu/convolution/convolution_shape.hpp>
#include <stagecraft/ipu/convolution/convolution_view.hpp>
#include <stagecraft/ipu/steps/convolution_strides.hpp>
#include <cstdint>

namespace stagecraft::tiles {

/// Undoes the transform of a plan: gives the number of an element in its tensor, or -1 for a zero (of padding, or
/// behind the last channel, group or kernel row), or for a result that nobody wants.
class convolution_elements {
 public:
  convolution_elements(convolution_shape const& shape, convolution_transform const& transform,
                       convolution_strides const& strides)
      : shape_(shape), transform_(transform), strides_(strides) {}

  [[nodiscard]] std::int64_t input(std::int64_t group, std::int64_t batch, std::int64_t row, std::int64_t column,
                                   std::int64_t channel) const {
    if (transform_.swap_operands) return original_weight(group, 0, 0, channel, column);
    return original_input(group, batch, row, column, channel);
  }
  [[nodiscard]] std::int64_t weight(std::int64_t group, std::int64_t row, std::int64_t column, std::int64_t in,
                                    std::int64_t out) const {
    if (transform_.swap_operands) return out < places() ? original_input(group, 0, 0, out, in) : -1;
    return original_weight(group, row, column, in, out);
  }
  [[nodiscard]] std::int64_t output(std::int64_t group, std::int64_t batch, std::int64_t row, std::int64_t column,
                                    std::int64_t channel) const {
    if (transform_.swap_operands) {
      auto const filter = column;
      column = channel;
      channel = filter;
      if (column >= places()) return -1;
    }
    if (group >= shape_.num_conv_groups || channel >= shape_.output_channels_per_conv_group) return -1;
    unflatten(batch, row, column);
    return strides_.outputs(group, batch, row, column, channel);
  }

 private:
  /// The element of the input as it was before operands changed places.
  [[nodiscard]] std::int64_t original_input(std::int64_t group, std::int64_t batch, std::int64_t row,
                                            std::int64_t column, std::int64_t channel) const {
    kernel_place const of = place_of(channel);
    if (group >= shape_.num_conv_groups || !of.exists) return -1;
    unflatten(batch, row, column);
    // An expanded input is told by its output.
    if (transform_.expand_height)
      row = row * shape_.stride.height + of.row * shape_.kernel_dilation.height - shape_.padding_lower.height;
    if (transform_.expand_width)
      column = column * shape_.stride.width + of.column * shape_.kernel_dilation.width - shape_.padding_lower.width;
    if (row < 0 || row >= shape_.input_field.height || column < 0 || column >= shape_.input_field.width) return -1;
    return strides_.inputs(group, batch, row, column, of.channel);
  }
  [[nodiscard]] std::int64_t original_weight(std::int64_t group, std::int64_t row, std::int64_t column, std::int64_t in,
                                             std::int64_t out) const {
    kernel_place const of = place_of(in);
    if (group >= shape_.num_conv_groups || !of.exists || out >= shape_.output_channels_per_conv_group) return -1;
    if (transform_.expand_height) row = of.row;
    if (transform_.expand_width) column = of.column;
    if (row >= shape_.kernel.height || column >= shape_.kernel.width) return -1;
    return strides_.weights(group, row, column, of.channel, out);
  }

  /// What an input channel was before the kernel was expanded.
  struct kernel_place {
    std::int64_t row = 0, column = 0, channel = 0;
    bool exists = false;
  };
  [[nodiscard]] kernel_place place_of(std::int64_t channel) const {
    std::int64_t const channels = shape_.input_channels_per_conv_group;
    kernel_place result{.channel = channel % channels};
    std::int64_t rest = channel / channels;
    if (transform_.expand_width) {
      result.column = rest % shape_.kernel.width;
      rest /= shape_.kernel.width;
    }
    if (transform_.expand_height) {
      result.row = rest % shape_.kernel.height;
      rest /= shape_.kernel.height;
    }
    result.exists = rest == 0;
    return result;
  }
  [[nodiscard]] std::int64_t places() const { return shape_.batch_size * shape_.output_field.elements(); }
  void unflatten(std::int64_t& batch, std::int64_t& row, std::int64_t& column) const {
    if (!transform_.flatten_field) return;
    batch = column / shape_.output_field.elements();
    row = column / shape_.output_field.width % shape_.output_field.height;
    column %= shape_.output_field.width;
  }

  convolution_shape shape_;
  convolution_transform transform_;
  convolution_strides strides_;
};

}  // namespace stagecraft::tiles
