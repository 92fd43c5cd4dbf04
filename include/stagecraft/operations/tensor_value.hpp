// SPDX-License-Identifier: BSD-3-Clause
// The result of an operation, as a layer's `call` sees it. Its operators and functions are in operations/tensor.hpp.
#pragma once

#include <stagecraft/diagnostics/compile_error.hpp>
#include <stagecraft/operations/operation_list.hpp>
#include <concepts>
#include <initializer_list>
#include <type_traits>

// The text of E1139: the reason of a deleted function with Clang, an argument of its template with GCC.
#define STAGECRAFT_E1139                                                                           \
  "a tensor of a call(...) is used as a number, which it is not yet: in place of std::exp(x) and " \
  "its like write exp(x), in place of `?:`, `if` and std::max write where(condition, a, b) and maximum(a, b)"

namespace stagecraft::operations::detail {

/// E1139.
template <class>
inline constexpr diagnostic tensor_as_number_problem = [] {
  diagnostic problem;
  problem.report(1139, STAGECRAFT_E1139);
  return problem;
}();
template <class T>
using no_number = report<tensor_as_number_problem<T>>;

}  // namespace stagecraft::operations::detail

namespace stagecraft::operations {

/// Types that C++ calls arithmetic.
template <class T>
concept Number = std::is_arithmetic_v<T>;

/// A value that does not exist yet: a number in a list of operations. Copies are the same value.
struct tensor {
  operation_list* list = nullptr;
  int id = -1;

  [[nodiscard]] constexpr operations::node const& node() const { return list->node_of(id); }
  /// All its extents, the batch among them.
  [[nodiscard]] constexpr extents shape() const { return node().shape; }  // a copy: the list moves when it grows
  [[nodiscard]] constexpr int rank() const { return shape().rank; }
  /// The type of its elements.
  [[nodiscard]] constexpr dtype type() const { return node().type; }
  /// Length of an axis, counted from the end if negative. E1070 for one that it does not have.
  [[nodiscard]] constexpr int length(int axis) const {
    if (shape().has(axis)) return shape()[axis];
    list->fail("axis ", axis, " of a tensor of shape ", shape(), " does not exist");
    return 1;
  }

  /// The conversion that std::exp asks for: E1139. It is deleted, so that what would take the result of std::exp is no
  /// second error.
#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wc++26-extensions"
  template <class T>
    requires std::is_same_v<T, double>
  constexpr operator T() const = delete(STAGECRAFT_E1139 " [E1139]");
#pragma clang diagnostic pop
#else
  template <class T, piece Text = diagnostics::cut_piece<detail::tensor_as_number_problem<T>, 0>()>
    requires std::is_same_v<T, double>
  constexpr operator T() const = delete;
#endif
  /// The conversion that conditions ask for: E1139, where GCC sees it first.
  template <class T>
    requires std::is_same_v<T, bool>
  constexpr explicit operator T() const noexcept(detail::no_number<T>()) {
    return {};
  }
};
#undef STAGECRAFT_E1139

/// The number `value`, wherever it is needed.
constexpr tensor number(operation_list& list, float value) { return {&list, list.append(constant{value}, {})}; }
/// The number `value` as an operand beside a: int32 if a is, and `value` is written as a whole number; else a float.
/// E1188 for one that int32 does not have.
constexpr tensor number_beside(tensor a, double value, bool is_integral);
/// f of operands some of which are int32: see operations/whole_numbers.hpp.
constexpr tensor apply_to_whole(function f, std::initializer_list<tensor> of);

/// f at each place. E1070 if the extents do not broadcast.
template <std::same_as<tensor>... More>
constexpr tensor apply(function f, tensor a, More... more) {
  extents out = a.shape();
  for (tensor const other : {a, more...}) {
    if (other.type() == dtype::int32) return apply_to_whole(f, {a, more...});
    if (out.broadcast_with(other.shape())) continue;
    a.list->fail("shapes ", out, " and ", other.shape(), " do not broadcast in '", name(f), "'");
    return a;
  }
  return {a.list, a.list->append(map{f}, out, {a.id, more.id...})};
}

}  // namespace stagecraft::operations
