// SPDX-License-Identifier: BSD-3-Clause
// What a list of operations costs in floating-point operations. Level 1.
#pragma once

#include <stagecraft/operations/operation_list.hpp>

namespace stagecraft::operations {

namespace detail {

/// Of one operation at its place. Movement and leaves cost nothing.
template <class List>
struct flop_count {
  List const& list;
  int id;

  [[nodiscard]] constexpr extents const& out() const { return list.nodes[static_cast<std::size_t>(id)].shape; }
  [[nodiscard]] constexpr extents const& in(int index) const {
    return list.nodes[static_cast<std::size_t>(operand_of(list, id, index))].shape;
  }

  template <class What>
  constexpr long long operator()(What const&) const {
    return 0;
  }
  constexpr long long operator()(map const& what) const {
    return what.apply == function::identity ? 0 : map::flops(out());
  }
  constexpr long long operator()(reduce const&) const { return reduce::flops(in(0)); }
  constexpr long long operator()(product const& what) const { return what.flops(in(0), out()); }
  // A convolution and its gradients multiply the same pairs.
  constexpr long long operator()(convolution const&) const { return convolution::flops(in(1), out()); }
  constexpr long long operator()(convolution_input_gradient const&) const { return convolution::flops(in(1), in(0)); }
  constexpr long long operator()(convolution_filter_gradient const&) const { return convolution::flops(out(), in(1)); }
  constexpr long long operator()(pooling const& what) const { return what.flops(out()); }
  constexpr long long operator()(pooling_gradient const& what) const {
    return pooling{what.kind, what.windows}.flops(in(1));
  }
  constexpr long long operator()(scatter_add const&) const { return in(0).size(); }
};

}  // namespace detail

/// Multiplications, additions and functions of operations of a list or a frozen plan, `ids` in their order: one for
/// each place of a map, two for each term of a product. What stands in a loop counts once for each trip.
template <class List, class Ids>
[[nodiscard]] constexpr long long flops(List const& list, Ids const& ids) {
  long long total = 0, trips = 1;
  for (int const id : ids) {
    operation const& what = list.nodes[static_cast<std::size_t>(id)].what;
    if (auto const* begins = what.if_is<loop>()) trips *= begins->trips;
    total += trips * what.visit(detail::flop_count<List>{list, id});
    if (!what.is<loop_end>()) continue;
    node const& begin = list.nodes[static_cast<std::size_t>(operand_of(list, id, 0))];
    trips /= begin.what.as<loop>().trips;
  }
  return total;
}
/// The same of the operations [first, end).
template <class List>
[[nodiscard]] constexpr long long flops(List const& list, int first, int end) {
  std::vector<int> ids;
  ids.reserve(static_cast<std::size_t>(end - first));
  for (int id = first; id < end; ++id) ids.push_back(id);
  return flops(list, ids);
}

}  // namespace stagecraft::operations
