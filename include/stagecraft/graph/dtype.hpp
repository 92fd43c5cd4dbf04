// SPDX-License-Identifier: BSD-3-Clause
// Element types of symbolic tensors.
#pragma once

#include <string_view>

namespace stagecraft {

/// Keras's `dtype` argument. The host computes in float32, and in int32 where values have this type; data of the other
/// types are converted on their way in.
/// (bfloat16: the upper half of a float32. of_policy: a layer's type is that of the description's dtype_policy.)
enum class dtype : unsigned char { float32, float16, int32, uint8, boolean, bfloat16, of_policy, int8 };

/// Keras's name of the type.
[[nodiscard]] constexpr std::string_view name(dtype type) noexcept {
  switch (type) {
    case dtype::float16: return "float16";
    case dtype::bfloat16: return "bfloat16";
    case dtype::int32: return "int32";
    case dtype::uint8: return "uint8";
    case dtype::int8: return "int8";
    case dtype::boolean: return "bool";
    default: return "float32";
  }
}

/// True for floating point types of 16 bits.
[[nodiscard]] constexpr bool is_half(dtype type) noexcept { return type == dtype::float16 || type == dtype::bfloat16; }

/// Bytes of one element.
[[nodiscard]] constexpr int size_of(dtype type) noexcept {
  switch (type) {
    case dtype::float16:
    case dtype::bfloat16: return 2;
    case dtype::uint8:
    case dtype::int8:
    case dtype::boolean: return 1;
    default: return 4;
  }
}

/// The option `input_bytes` of dense, conv1d and conv2d: the layer's input is whole numbers from `least` to `least` +
/// 255, its kernel whole numbers from -128 to 127, and its bias whole numbers of int32, as in a network that has been
/// quantized to 8 bits. Predictors on a CPU then multiply bytes, whose sums are exact in int32 and rounded to float32
/// once; other numbers are rounded to the nearest of these. Training, stages and IPUs multiply floats, which give the
/// same where no sum is above 2^24. `least` is from -255 to 0. Counterpart: the zero points of ONNX's QLinearConv.
struct bytes_from {
  int least = 0;          ///< the input's smallest number: minus the zero point of unsigned bytes
  bool is_given = false;  ///< true if the layer multiplies bytes

  constexpr bytes_from() = default;
  constexpr explicit bytes_from(int least_) : least(least_), is_given(true) {}
  friend constexpr bool operator==(bytes_from const&, bytes_from const&) = default;
};

}  // namespace stagecraft

namespace stagecraft::tracing {

/// Numbers of this size and more are infinities when they are rounded to a floating-point type: halfway between its
/// largest number and the power of two that would be the next one.
[[nodiscard]] constexpr double end_of_numbers(dtype type) noexcept {
  return type == dtype::float16 ? 65520.0 : type == dtype::bfloat16 ? 0x1.ffp127 : 0x1.ffffffp127;
}

}  // namespace stagecraft::tracing
