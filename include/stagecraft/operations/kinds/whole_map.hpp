// SPDX-License-Identifier: BSD-3-Clause
// Elementwise operations on int32, and conversions between int32 and the other types.
#pragma once

#include <stagecraft/graph/dtype.hpp>
#include <stagecraft/operations/kinds/extents.hpp>

namespace stagecraft::operations {

/// A function of one or two int32, or a conversion. Sums, differences, products and shifts wrap.
enum class whole_function : unsigned char {
  constant,       ///< the operation's own number, at each place
  from_float,     ///< the fraction is cut off; numbers beyond int32 are its nearest number, and NaN is 0
  bits_of_float,  ///< the 32 bits that a float32 has in memory
  // functions of one int32
  float_of_bits,  ///< the float32 that has these bits
  to_float,       ///< the nearest float32
  to_bool,        ///< 1 as a float unless it is 0
  to_uint8,       ///< modulo 256, as a float
  to_int8,        ///< modulo 256, in [-128, 128), as a float
  negative,
  absolute,
  sign,
  bitwise_not,
  // functions of two int32
  add,
  subtract,
  multiply,
  divide,        ///< rounded towards 0; 0 where the divisor is 0, as in the next three
  remainder,     ///< the remainder of `divide`, with the sign of the dividend
  floor_divide,  ///< rounded down
  modulo,        ///< the remainder of `floor_divide`, with the sign of the divisor
  power,         ///< 0 for a negative exponent, unless the base is 1 or -1
  maximum,
  minimum,
  bitwise_and,
  bitwise_or,
  bitwise_xor,
  left_shift,   ///< 0 for a distance outside of [0, 32)
  right_shift,  ///< copies the sign; -1 or 0 for a distance outside of [0, 32)
  less,         ///< comparisons give 1 or 0 as a float
  less_equal,
  equal
};

[[nodiscard]] constexpr int arity(whole_function f) noexcept {
  return f == whole_function::constant ? 0 : f < whole_function::add ? 1 : 2;
}

/// The type of the result.
[[nodiscard]] constexpr dtype type_of_result(whole_function f) noexcept {
  using enum whole_function;
  switch (f) {
    case to_float:
    case float_of_bits: return dtype::float32;
    case to_bool:
    case less:
    case less_equal:
    case equal: return dtype::boolean;
    case to_uint8: return dtype::uint8;
    case to_int8: return dtype::int8;
    default: return dtype::int32;
  }
}

/// Applies the function at each place; operands are repeated as by `map`. It has no gradient.
struct whole_map {
  whole_function apply = whole_function::constant;
  int value = 0;  ///< the number of a `constant`

  /// One operation for each place, for every function.
  [[nodiscard]] static constexpr long long flops(extents const& out) noexcept { return out.size(); }
};

}  // namespace stagecraft::operations
