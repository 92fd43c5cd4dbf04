// SPDX-License-Identifier: BSD-3-Clause
// Floating-point operations of a list of operations.
#pragma once

#include <stagecraft/operations/operation_list.hpp>

namespace stagecraft::operations {

namespace detail {

/// FLOPs of one operation in its list. Movement and leaves cost nothing. The function asks for the few kinds that cost
/// something, since compilers would make a function for each kind that a visit has.
template <class List>
[[nodiscard]] constexpr long long flops_of(List const& list, int id) {
  node const& at_id = list.nodes[id];
  operation const& what = at_id.what;
  extents const& out = at_id.shape;
  auto const in = [&](int index) -> extents const& { return list.nodes[operand_of(list, id, index)].shape; };
  if (auto const* of = what.if_is<map>()) return of->apply == function::identity ? 0 : map::flops(out);
  if (what.is<reduce>()) return reduce::flops(in(0));
  if (auto const* of = what.if_is<product>()) return of->flops(in(0), out);
  // A convolution and its gradients multiply the same pairs.
  if (what.is<convolution>()) return convolution::flops(in(1), out);
  if (what.is<convolution_input_gradient>()) return convolution::flops(in(1), in(0));
  if (what.is<convolution_filter_gradient>()) return convolution::flops(out, in(1));
  if (auto const* of = what.if_is<pooling>()) return of->flops(out);
  if (auto const* of = what.if_is<pooling_gradient>()) return pooling{of->kind, of->windows}.flops(in(1));
  if (what.is<whole_map>()) return whole_map::flops(out);
  return what.is<scatter_add>() ? in(0).size() : 0;
}

/// Counts FLOPs; an operation in a loop counts once for each trip.
struct flop_count {
  long long total = 0, trips = 1;

  template <class List>
  constexpr void add(List const& list, int id) {
    operation const& what = list.nodes[id].what;
    if (auto const* begins = what.if_is<loop>()) trips *= begins->trips;
    total += trips * flops_of(list, id);
    if (!what.is<loop_end>()) return;
    node const& begin = list.nodes[operand_of(list, id, 0)];
    trips /= begin.what.as<loop>().trips;
  }
};

}  // namespace detail

/// The number of multiplications, additions and functions in the operations `ids` of a list or a frozen plan: one for
/// each place of a map, two for each term of a product.
template <class List, class Ids>
[[nodiscard]] constexpr long long flops(List const& list, Ids const& ids) {
  detail::flop_count count;
  for (int const id : ids) count.add(list, id);
  return count.total;
}
/// FLOPs of the operations [first, end).
template <class List>
[[nodiscard]] constexpr long long flops(List const& list, int first, int end) {
  detail::flop_count count;
  for (int id = first; id < end; ++id) count.add(list, id);
  return count.total;
}

}  // namespace stagecraft::operations
