// SPDX-License-Identifier: BSD-3-Clause
// What a convolution or matrix product computes, in numbers: the counterpart of poplin's ConvParams.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/dtype.hpp>
#include <stagecraft/ipu/cycles/integers.hpp>
#include <cstdint>

namespace stagecraft::tiles {

/// Rows and columns.
struct field_size {
  std::int64_t height = 1;
  std::int64_t width = 1;

  [[nodiscard]] constexpr std::int64_t elements() const noexcept { return height * width; }
  friend constexpr bool operator==(field_size const&, field_size const&) = default;
};

}  // namespace stagecraft::tiles

namespace stagecraft {

/// Which of the three convolutions of a layer this is. Data of the other two are laid out for the first.
enum class convolution_pass : unsigned char { forward, input_gradient, filter_gradient };

/// A convolution: output (o) is the sum over kernel elements (k) and input channels of kernel times input at
/// (o * stride + k * kernel_dilation - padding_lower) / input_dilation, where that is a whole number within the input.
///
/// A matrix product is one with a field of one element, whose batch are the rows (`matmul`). Both gradients of a
/// convolution are convolutions, too, which `input_gradient()` and `filter_gradient()` describe; the gradients of a
/// matrix product are those of its left and right operand.
/// Sources: poplibs, lib/poplin/ConvParams, getGradientParams and getWeightUpdateParams.
struct convolution_shape {
  dtype input = dtype::float32;   ///< of inputs and weights, as they are stored and exchanged: float32 or float16
  dtype output = dtype::float32;  ///< float32 or float16
  /// float32 inputs and weights are multiplied as float16: tiles convert what they have received.
  bool multiplies_float16 = false;
  convolution_pass pass = convolution_pass::forward;
  std::int64_t batch_size = 1;
  std::int64_t num_conv_groups = 1;
  std::int64_t input_channels_per_conv_group = 1;
  std::int64_t output_channels_per_conv_group = 1;
  tiles::field_size input_field;
  tiles::field_size kernel;
  tiles::field_size output_field;
  tiles::field_size stride;
  tiles::field_size kernel_dilation;
  tiles::field_size input_dilation;  ///< zeros between input elements: 2 puts one between each two
  tiles::field_size padding_lower{.height = 0,
                                  .width = 0};  ///< zeros above and to the left; negative cuts the input off

  friend constexpr bool operator==(convolution_shape const&, convolution_shape const&) = default;

  /// (rows x depth) times (depth x columns), `groups` times; both operands and the result are of one type.
  [[nodiscard]] static constexpr convolution_shape matmul(dtype type, std::int64_t rows, std::int64_t depth,
                                                          std::int64_t columns, std::int64_t groups = 1) noexcept {
    convolution_shape result;
    result.input = result.output = type;
    result.batch_size = rows;
    result.num_conv_groups = groups;
    result.input_channels_per_conv_group = depth;
    result.output_channels_per_conv_group = columns;
    return result;
  }

  /// The convolution that makes the input's gradient of the output's gradient and the kernel, turned by 180 degrees.
  [[nodiscard]] constexpr convolution_shape input_gradient() const noexcept {
    convolution_shape result = *this;
    result.pass = convolution_pass::input_gradient;
    result.input_channels_per_conv_group = output_channels_per_conv_group;
    result.output_channels_per_conv_group = input_channels_per_conv_group;
    result.input_field = output_field;
    result.output_field = input_field;
    result.stride = input_dilation;
    result.input_dilation = stride;
    result.padding_lower = {.height = (kernel.height - 1) * kernel_dilation.height - padding_lower.height,
                            .width = (kernel.width - 1) * kernel_dilation.width - padding_lower.width};
    return result;
  }

  /// The convolution that makes the kernel's gradient of the input and the output's gradient: channels are the batch,
  /// the batch are the channels, and the output's gradient is the kernel.
  [[nodiscard]] constexpr convolution_shape filter_gradient() const noexcept {
    convolution_shape result = *this;
    result.pass = convolution_pass::filter_gradient;
    result.batch_size = input_channels_per_conv_group;
    result.input_channels_per_conv_group = batch_size;
    result.kernel = output_field;
    result.output_field = kernel;
    result.stride = kernel_dilation;
    result.kernel_dilation = stride;
    return result;
  }

  /// The type of what is multiplied.
  [[nodiscard]] constexpr dtype operand() const noexcept { return multiplies_float16 ? dtype::float16 : input; }
  [[nodiscard]] constexpr std::int64_t inputs() const noexcept {
    return batch_size * num_conv_groups * input_channels_per_conv_group * input_field.elements();
  }
  [[nodiscard]] constexpr std::int64_t weights() const noexcept {
    return num_conv_groups * input_channels_per_conv_group * output_channels_per_conv_group * kernel.elements();
  }
  [[nodiscard]] constexpr std::int64_t outputs() const noexcept {
    return batch_size * num_conv_groups * output_channels_per_conv_group * output_field.elements();
  }

  /// Multiplications with addition that are not with zeros of padding or dilation: as many in each of the three passes.
  [[nodiscard]] constexpr std::int64_t macs() const noexcept {
    return batch_size * num_conv_groups * input_channels_per_conv_group * output_channels_per_conv_group *
           pairs(output_field.height, kernel.height, input_field.height, stride.height, kernel_dilation.height,
                 input_dilation.height, padding_lower.height) *
           pairs(output_field.width, kernel.width, input_field.width, stride.width, kernel_dilation.width,
                 input_dilation.width, padding_lower.width);
  }
  [[nodiscard]] constexpr std::int64_t flops() const noexcept { return 2 * macs(); }

 private:
  /// How many pairs of an output and a kernel element meet an element of the input.
  [[nodiscard]] static constexpr std::int64_t pairs(std::int64_t outputs, std::int64_t kernels, std::int64_t inputs,
                                                    std::int64_t output_step, std::int64_t kernel_step,
                                                    std::int64_t input_step, std::int64_t padding) noexcept {
    // The three are alike: a loop over the smaller of outputs and kernel elements is enough where all inputs count.
    if (input_step == 1 && kernels > outputs)
      return pairs(kernels, outputs, inputs, kernel_step, output_step, input_step, padding);
    std::int64_t result = 0;
    for (std::int64_t k = 0; k < kernels; ++k) {
      std::int64_t const first = k * kernel_step - padding;  // where output 0 looks, in steps of the dilated input
      if (input_step == 1) {
        std::int64_t const begin = first >= 0 ? 0 : detail::ceil_div(-first, output_step);
        std::int64_t const last = inputs - 1 - first;
        std::int64_t const end = last < 0 ? 0 : detail::smaller(outputs, last / output_step + 1);
        if (end > begin) result += end - begin;
      } else {
        for (std::int64_t o = 0; o < outputs; ++o) {
          std::int64_t const place = first + o * output_step;
          if (place >= 0 && place % input_step == 0 && place / input_step < inputs) ++result;
        }
      }
    }
    return result;
  }
};

}  // namespace stagecraft
