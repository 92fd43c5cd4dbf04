// SPDX-License-Identifier: BSD-3-Clause
// Conversions between types of elements, and functions of tensors some of which are int32.
#pragma once

#include <stagecraft/operations/tensor_value.hpp>
#include <initializer_list>

namespace stagecraft::operations {

namespace detail {

/// f at each place of one or two tensors of int32, or of floats that f converts.
constexpr tensor map_whole(whole_function f, tensor a, tensor b = {}) {
  extents out = a.shape();
  if (b.list == nullptr) return {a.list, a.list->append(whole_map{f}, out, {a.id})};
  if (!out.broadcast_with(b.shape())) {
    a.list->fail("shapes ", out, " and ", b.shape(), " do not broadcast in a function of int32");
    return a;
  }
  return {a.list, a.list->append(whole_map{f}, out, {a.id, b.id})};
}
/// The number `value` as int32.
constexpr tensor int32_number(operation_list& list, int value) {
  return {&list, list.append(whole_map{whole_function::constant, value}, {})};
}
/// Returns x's values under another type that is stored as floats, too.
constexpr tensor with_type(tensor x, dtype type) {
  tensor const result{x.list, x.list->append(map{function::identity}, x.shape(), {x.id})};
  result.list->node_of(result.id).type = type;
  return result;
}
/// Finds the function of int32 that corresponds to a function of floats; returns false if there is none.
constexpr bool whole_function_of(function f, whole_function& found) {
  switch (f) {
    case function::negative: found = whole_function::negative; return true;
    case function::absolute: found = whole_function::absolute; return true;
    case function::sign: found = whole_function::sign; return true;
    case function::add: found = whole_function::add; return true;
    case function::subtract: found = whole_function::subtract; return true;
    case function::multiply: found = whole_function::multiply; return true;
    case function::divide: found = whole_function::divide; return true;
    case function::remainder: found = whole_function::remainder; return true;
    case function::power: found = whole_function::power; return true;
    case function::maximum: found = whole_function::maximum; return true;
    case function::minimum: found = whole_function::minimum; return true;
    case function::less: found = whole_function::less; return true;
    case function::less_equal: found = whole_function::less_equal; return true;
    case function::equal: found = whole_function::equal; return true;
    default: return false;
  }
}

/// A boolean tensor: true where x is not 0.
constexpr tensor is_not_zero(tensor x) {
  tensor const zero = number(*x.list, 0);
  return apply(function::equal, apply(function::equal, x, zero), zero);
}

}  // namespace detail

/// x in another type: Keras's `ops.cast`. From float32 to int32 the fraction is cut off, numbers beyond int32 become
/// its nearest number and NaN becomes 0; to uint8 and int8 whole numbers wrap; to boolean all but 0 is true. E1187 for
/// another type.
constexpr tensor cast(tensor x, dtype type) {
  dtype const from = x.type();
  if (from == type) return x;
  switch (type) {
    case dtype::int32: return detail::map_whole(whole_function::from_float, x);
    case dtype::float32:
      return from == dtype::int32 ? detail::map_whole(whole_function::to_float, x) : detail::with_type(x, type);
    case dtype::boolean:
      return from == dtype::int32 ? detail::map_whole(whole_function::to_bool, x) : detail::is_not_zero(x);
    case dtype::uint8:
    case dtype::int8:
      if (from == dtype::boolean) return detail::with_type(x, type);
      return detail::map_whole(type == dtype::int8 ? whole_function::to_int8 : whole_function::to_uint8,
                               cast(x, dtype::int32));
    default:
      if (x.list->begin_rejection(1187)) {
        x.list->problem.append("converts a tensor to ");
        x.list->problem.append(name(type));
        x.list->problem.append(", but tensors inside of a call are float32, int32, uint8, int8 or bool");
        x.list->problem.end();
      }
      return x;
  }
}

constexpr tensor number_beside(tensor a, double value, bool is_integral) {
  if (a.type() != dtype::int32 || !is_integral) return number(*a.list, static_cast<float>(value));
  if (value >= -2147483648.0 && value <= 2147483647.0) return detail::int32_number(*a.list, static_cast<int>(value));
  if (a.list->begin_rejection(1188)) {
    a.list->problem.append("computes with a tensor of int32 and a number that int32 does not have");
    a.list->problem.end();
  }
  return detail::int32_number(*a.list, 0);
}

/// If all operands are whole numbers and int32 has the function, it is computed in int32. Otherwise int32 become
/// float32 first, as in Keras. A choice has the type of the two tensors that it chooses from.
constexpr tensor apply_to_whole(function f, std::initializer_list<tensor> of) {
  tensor in[3]{};
  int count = 0;
  for (tensor const each : of) in[count++] = each;
  if (f == function::identity || f == function::floor || f == function::round) return in[0];
  bool const is_choice = f == function::select;
  bool are_whole = true, some_are_whole = false;
  for (int i = is_choice ? 1 : 0; i < count; ++i) {
    are_whole = are_whole && in[i].type() != dtype::float32;
    some_are_whole = some_are_whole || in[i].type() == dtype::int32;
  }
  whole_function found{};
  bool const is_whole = are_whole && (is_choice || detail::whole_function_of(f, found));
  if (is_choice) in[0] = cast(in[0], dtype::boolean);
  for (int i = is_choice ? 1 : 0; i < count && some_are_whole; ++i)
    in[i] = cast(in[i], is_whole ? dtype::int32 : dtype::float32);
  if (is_whole && !is_choice) return detail::map_whole(found, in[0], in[1]);
  if (count == 1) return apply(f, in[0]);
  if (count == 2) return apply(f, in[0], in[1]);
  extents out = in[0].shape();
  if (!out.broadcast_with(in[1].shape()) || !out.broadcast_with(in[2].shape())) {
    in[0].list->fail("shapes ", in[0].shape(), ", ", in[1].shape(), " and ", in[2].shape(), " do not broadcast in '",
                     name(f), "'");
    return in[1];
  }
  return {in[0].list, in[0].list->append(map{f}, out, {in[0].id, in[1].id, in[2].id})};
}

}  // namespace stagecraft::operations
