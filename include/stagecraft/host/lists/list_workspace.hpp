// SPDX-License-Identifier: BSD-3-Clause
// How many floats the operations of a list need beside their values.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/kernels/convolution/windows.hpp>
#include <stagecraft/kernels/product/product.hpp>
#include <stagecraft/operations/composite_gradient.hpp>
#include <stagecraft/operations/operation_list.hpp>
#include <cstdint>

namespace stagecraft::cpu {

/// The workspace of a `list_runner`.
template <class Arch>
class list_workspace {
 public:
  using node = operations::node;
  using extents = operations::extents;
  using window_functions = kernels::window_functions<Arch>;

  /// Floats of workspace for the operations of a step, one at a time, and for what is kept packed: by loops, and if it
  /// runs in parts, weights. `by`: what carries out its convolutions.
  [[nodiscard]] static constexpr std::int64_t of(tracing::array_view<node const> nodes,
                                                 tracing::array_view<int const> operands,
                                                 tracing::array_view<int const> order, bool in_parts = false,
                                                 window_functions const* by = nullptr) {
    std::int64_t kept = 0;
    int loop = -1;  // the outermost
    for (int const id : order) {
      node const& of = nodes[id];
      if (loop < 0 && of.what.template is<operations::loop>()) loop = id;
      if (of.what.template is<operations::loop_end>() && operands[of.first_operand] == loop) loop = -1;
      if ((loop >= 0 && is_packed_in(loop, of, operands)) || (in_parts && is_product_with_weight(of, nodes, operands)))
        kept += kernels::packed_product_floats<Arch>(shape_of_product(of, nodes[operands[of.first_operand]].shape));
    }
    return kept + of_single(nodes, operands, order, by);
  }

  /// Floats of workspace for either step of a plan: its values' (which come first), and the operations'.
  template <class Plan>
  [[nodiscard]] static constexpr std::int64_t of_steps(Plan const& plan) {
    auto const forward = plan.forward_workspace + of(plan.nodes, plan.operands, plan.forward),
               backward = plan.backward_workspace + of(plan.nodes, plan.operands, plan.backward);
    return forward > backward ? forward : backward;
  }

  [[nodiscard]] static constexpr std::int64_t of_single(tracing::array_view<node const> nodes,
                                                        tracing::array_view<int const> operands,
                                                        tracing::array_view<int const> order,
                                                        window_functions const* by = nullptr) {
    std::int64_t largest = 0;
    for (int const id : order) {
      node const& of = nodes[id];
      if (of.operand_count == 0) continue;
      auto const* group = of.what.template if_is<operations::composite>();
      int const x = group != nullptr && group->has_kernel ? 1 : 0;  // a group's result comes first
      auto const& first = nodes[operands[of.first_operand + x]].shape;
      auto const floats = of_node(of, first) + (by == nullptr ? 0 : of_windows(*by, of, nodes, operands));
      if (floats > largest) largest = floats;
    }
    return largest;
  }
  /// `first`: the extents of the first operand, or of what a group with a kernel normalizes.
  [[nodiscard]] static constexpr std::int64_t of_node(node const& of, extents const& first) {
    if (of.what.template is<operations::product>())
      return kernels::product_workspace<Arch>(shape_of_product(of, first));
    if (of.what.template is<operations::pooling_gradient>()) return 2 * first.size() + 64;  // more than the windows
    if (auto const* group = of.what.template if_is<operations::composite>(); group != nullptr && group->has_kernel) {
      if (operations::channel_normalization::has(*group)) {
        auto const channels = static_cast<std::int64_t>(first[-1]);
        return of_channels(first.size() / channels, channels);
      }
      // Two numbers of each row, and two of each column: see normalization_of_rows.
      auto const columns = static_cast<std::int64_t>(operations::row_normalization::of(*group).columns);
      return 2 * (first.size() / columns + columns + 64);
    }
    return 0;
  }
  /// Floats of workspace of a group that normalizes channels, at least: a number of each channel and of each column,
  /// and two of each item of rows: see normalization_of_channels.
  [[nodiscard]] static constexpr std::int64_t of_channels(std::int64_t rows, std::int64_t channels) {
    constexpr std::int64_t columns = 64 * kernels::lanes<Arch>;  // of channels that do not fill a register
    std::int64_t const items = rows * channels / 16384 + 1;
    return (9 + 2 * (items < 32 ? items : 32)) * (channels + 16) + 4 * (channels + columns);
  }
  /// Floats of workspace of a convolution that `by` carries out.
  [[nodiscard]] static constexpr std::int64_t of_windows(window_functions const& by, node const& of,
                                                         tracing::array_view<node const> nodes,
                                                         tracing::array_view<int const> operands) {
    using kernels::convolution_part;
    auto const operand = [&](int i) -> extents const& { return nodes[operands[of.first_operand + i]].shape; };
    auto const floats = [&](convolution_part part, operations::windows const& windows, int groups, extents const& image,
                            extents const& output) -> std::int64_t {
      if (!by.gains(part, windows, image, output, groups)) return 0;
      auto const terms = static_cast<int>(windows.size()) * image[-1];
      return by.workspace(part, 2 * kernels::detail::product_depth, terms, output[-1]);
    };
    if (auto const* what = of.what.template if_is<operations::convolution>())
      return floats(convolution_part::output, what->windows, what->groups, operand(0), of.shape);
    if (auto const* what = of.what.template if_is<operations::convolution_input_gradient>())
      return floats(convolution_part::input, what->windows, what->groups, of.shape, operand(0));
    if (auto const* what = of.what.template if_is<operations::convolution_filter_gradient>())
      return floats(convolution_part::filter, what->windows, what->groups, operand(0), operand(1));
    return 0;
  }
  [[nodiscard]] static constexpr kernels::product_shape shape_of_product(node const& of, extents const& first) {
    auto const& what = of.what.template as<operations::product>();
    return {of.shape[-2], what.inner(first), of.shape[-1], what.transpose_a, what.transpose_b};
  }
  /// True if a product in a loop has one right operand for all trips, which is packed once.
  [[nodiscard]] static constexpr bool is_packed_in(int loop, node const& of, tracing::array_view<int const> operands) {
    return of.what.template is<operations::product>() && of.shape.rank == 2 && operands[of.first_operand + 1] < loop;
  }
  /// True if a product's right operand is a weight.
  [[nodiscard]] static constexpr bool is_product_with_weight(node const& of, tracing::array_view<node const> nodes,
                                                             tracing::array_view<int const> operands) {
    if (!of.what.template is<operations::product>() || of.shape.rank != 2) return false;
    int right = operands[of.first_operand + 1];
    while (is_alias(nodes[right].what)) right = operands[nodes[right].first_operand];
    return nodes[right].what.template is<operations::weight>();
  }
};

}  // namespace stagecraft::cpu
