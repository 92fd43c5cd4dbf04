// SPDX-License-Identifier: BSD-3-Clause
// Functions of the bits of int32, under the names of Keras's ops.
#pragma once

#include <stagecraft/operations/functions.hpp>

namespace stagecraft::operations {

namespace detail {

/// f of int32 alone; E1240 for an operand of another type.
template <OneTensor Tensor>
constexpr Tensor map_bits(whole_function f, std::string_view name, Tensor a, Tensor b = {}) {
  bool const has_two = b.list != nullptr;
  dtype const wrong = a.type() != dtype::int32 ? a.type() : has_two ? b.type() : dtype::int32;
  if (wrong == dtype::int32) return map_whole(f, a, b);
  if (a.list->begin_rejection(1240)) {
    a.list->problem.append("calls ");
    a.list->problem.append(name);
    a.list->problem.append(" with a tensor of ");
    a.list->problem.append(stagecraft::name(wrong));
    a.list->problem.append(", expected int32: ops.cast(x, sc::dtype::int32)");
    a.list->problem.end();
  }
  return a;
}
/// The number as int32 beside a tensor of that type, and beside another one the tensor, which map_bits refuses.
template <OneTensor Tensor, std::integral N>
constexpr Tensor bits_beside(Tensor a, N number) {
  return a.type() == dtype::int32 ? number_beside(a, static_cast<double>(number), true) : a;
}

}  // namespace detail

// Both operands are int32, or the second is a whole number: E1240 for tensors of other types, E1188 for a number that
// int32 does not have. There are no gradients.
template <OneTensor Tensor>
constexpr Tensor bitwise_and(Tensor a, Tensor b) {
  return detail::map_bits(whole_function::bitwise_and, "bitwise_and", a, b);
}
template <OneTensor Tensor, std::integral N>
constexpr Tensor bitwise_and(Tensor a, N b) {
  return bitwise_and(a, detail::bits_beside(a, b));
}
template <OneTensor Tensor>
constexpr Tensor bitwise_or(Tensor a, Tensor b) {
  return detail::map_bits(whole_function::bitwise_or, "bitwise_or", a, b);
}
template <OneTensor Tensor, std::integral N>
constexpr Tensor bitwise_or(Tensor a, N b) {
  return bitwise_or(a, detail::bits_beside(a, b));
}
template <OneTensor Tensor>
constexpr Tensor bitwise_xor(Tensor a, Tensor b) {
  return detail::map_bits(whole_function::bitwise_xor, "bitwise_xor", a, b);
}
template <OneTensor Tensor, std::integral N>
constexpr Tensor bitwise_xor(Tensor a, N b) {
  return bitwise_xor(a, detail::bits_beside(a, b));
}
/// Each bit of a turned: -a - 1.
template <OneTensor Tensor>
constexpr Tensor bitwise_not(Tensor a) {
  return detail::map_bits(whole_function::bitwise_not, "bitwise_not", a);
}
/// a with its bits moved up by b places, which wraps; 0 for a b outside of [0, 32).
template <OneTensor Tensor>
constexpr Tensor left_shift(Tensor a, Tensor b) {
  return detail::map_bits(whole_function::left_shift, "left_shift", a, b);
}
template <OneTensor Tensor, std::integral N>
constexpr Tensor left_shift(Tensor a, N b) {
  return left_shift(a, detail::bits_beside(a, b));
}
/// a with its bits moved down by b places, which copies the sign; -1 or 0 for a b outside of [0, 32).
template <OneTensor Tensor>
constexpr Tensor right_shift(Tensor a, Tensor b) {
  return detail::map_bits(whole_function::right_shift, "right_shift", a, b);
}
template <OneTensor Tensor, std::integral N>
constexpr Tensor right_shift(Tensor a, N b) {
  return right_shift(a, detail::bits_beside(a, b));
}
/// The bits of a in memory as numbers of another type, float32 or int32: Keras's `ops.view`, C++'s std::bit_cast.
/// Returns a if it has that type. E1241 for another type, of a or wanted. It has no gradient.
template <OneTensor Tensor>
constexpr Tensor view(Tensor a, dtype type) {
  auto const has_bits = [](dtype each) { return each == dtype::float32 || each == dtype::int32; };
  dtype const from = a.type();
  if (has_bits(from) && has_bits(type))
    return from == type ? a
                        : detail::map_whole(
                              type == dtype::int32 ? whole_function::bits_of_float : whole_function::float_of_bits, a);
  if (a.list->begin_rejection(1241)) {
    a.list->problem.append("views the bits of ");
    a.list->problem.append(name(from));
    a.list->problem.append(" as ");
    a.list->problem.append(name(type));
    a.list->problem.append(", expected float32 or int32 of both");
    a.list->problem.end();
  }
  return a;
}

}  // namespace stagecraft::operations
