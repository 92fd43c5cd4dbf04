// SPDX-License-Identifier: BSD-3-Clause
// Where the elements of a convolution's operands lie in their tensors.
#pragma once

#include <stagecraft/ipu/convolution/convolution_plan.hpp>
#include <cstdint>

namespace stagecraft::tiles {

/// Strides of an operand, in elements of its tensor, for each index of the convolution of a forward pass or a gradient.
struct convolution_strides {
  struct places {  ///< strides of inputs and outputs
    std::int64_t group = 0, batch = 0, row = 0, column = 0, channel = 0;

    [[nodiscard]] constexpr std::int64_t operator()(std::int64_t g, std::int64_t b, std::int64_t y, std::int64_t x,
                                                    std::int64_t c) const noexcept {
      return g * group + b * batch + y * row + x * column + c * channel;
    }
  };
  struct kernel_places {
    std::int64_t first = 0, group = 0, row = 0, column = 0, input = 0, output = 0;

    friend constexpr bool operator==(kernel_places const&, kernel_places const&) = default;

    [[nodiscard]] constexpr std::int64_t operator()(std::int64_t g, std::int64_t y, std::int64_t x, std::int64_t in,
                                                    std::int64_t out) const noexcept {
      return first + g * group + y * row + x * column + in * input + out * output;
    }
  };

  places inputs;
  kernel_places weights;
  places outputs;

  /// Strides of a forward pass, channels last; the kernel is (rows, columns, input channels of a group, output
  /// channels).
  [[nodiscard]] static constexpr convolution_strides forward(convolution_shape const& shape) noexcept {
    std::int64_t const groups = shape.num_conv_groups;
    std::int64_t const ins = shape.input_channels_per_conv_group;
    std::int64_t const outs = shape.output_channels_per_conv_group;
    return {.inputs = of_images(shape.input_field, groups, ins),
            .weights = {.first = 0,
                        .group = outs,
                        .row = shape.kernel.width * ins * groups * outs,
                        .column = ins * groups * outs,
                        .input = groups * outs,
                        .output = 1},
            .outputs = of_images(shape.output_field, groups, outs)};
  }
  /// Strides of the input's gradient of the same convolution: the kernel is turned by 180 degrees.
  [[nodiscard]] static constexpr convolution_strides input_gradient(convolution_shape const& shape) noexcept {
    auto const of = forward(shape);
    return {
        .inputs = of.outputs,
        .weights = {.first = (shape.kernel.height - 1) * of.weights.row + (shape.kernel.width - 1) * of.weights.column,
                    .group = of.weights.group,
                    .row = -of.weights.row,
                    .column = -of.weights.column,
                    .input = of.weights.output,
                    .output = of.weights.input},
        .outputs = of.inputs};
  }
  /// Strides of the kernel's gradient: the batch are the input's channels, and the other way round; the kernel is the
  /// output's gradient, the output's field is the kernel.
  [[nodiscard]] static constexpr convolution_strides filter_gradient(convolution_shape const& shape) noexcept {
    auto const of = forward(shape);
    return {.inputs = {.group = of.inputs.group,
                       .batch = of.inputs.channel,
                       .row = of.inputs.row,
                       .column = of.inputs.column,
                       .channel = of.inputs.batch},
            .weights = {.first = 0,
                        .group = of.outputs.group,
                        .row = of.outputs.row,
                        .column = of.outputs.column,
                        .input = of.outputs.batch,
                        .output = of.outputs.channel},
            .outputs = {.group = of.weights.group,
                        .batch = of.weights.input,
                        .row = of.weights.row,
                        .column = of.weights.column,
                        .channel = of.weights.output}};
  }

 private:
  [[nodiscard]] static constexpr places of_images(field_size const& field, std::int64_t groups,
                                                  std::int64_t channels) noexcept {
    return {.group = channels,
            .batch = field.elements() * groups * channels,
            .row = field.width * groups * channels,
            .column = groups * channels,
            .channel = 1};
  }
};

}  // namespace stagecraft::tiles
