// SPDX-License-Identifier: BSD-3-Clause
// The forward plan of one sample as rows, and which of its values are rings: steps that a layer keeps between calls.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/host/steps/plan_of_call.hpp>
#include <stagecraft/operations/kinds/operation.hpp>

namespace stagecraft::cpu {

/// `Call`: a host_call. Operations are numbers of the plan's nodes.
template <class Call>
struct rows_of_plan {
  static constexpr auto const& plan = plan_of_call<Call>::value;
  static constexpr int count = static_cast<int>(plan.forward.size());

  static constexpr auto const& what(int id) { return plan.nodes[id].what; }
  template <class What>
  static constexpr bool is(int id) {
    return what(id).template is<What>();
  }
  template <class What>
  static constexpr auto const& as(int id) {
    return what(id).template as<What>();
  }
  static constexpr int operand(int id, int index) { return plan.operands[plan.nodes[id].first_operand + index]; }
  /// The operation whose memory a value is.
  static constexpr int source(int id) {
    while (is_alias(what(id))) id = operand(id, 0);
    return id;
  }
  static constexpr operations::extents const& shape_of(int id) { return plan.nodes[id].shape; }
  static constexpr int columns(int id) { return shape_of(id).rank == 0 ? 1 : shape_of(id)[-1]; }
  static constexpr int rows(int id) { return static_cast<int>(shape_of(id).size() / columns(id)); }
  static constexpr int position_of(bool (*is_there)(int)) {
    for (int i = 0; i < count; ++i)
      if (is_there(plan.forward[i])) return i;
    return -1;
  }

  // A ring holds the steps that a layer keeps from call to call, followed by those of the call.

  /// The value that an operation, if it is a state of this call alone, is updated to; -1 if none.
  static constexpr int next_state(int id) {
    if (Call::plan::graph.layer_of(Call::call).call_count != 1) return -1;
    if (!is<operations::weight>(id)) return -1;
    auto const& info = Call::parameter_info(as<operations::weight>(id).index);
    if (!info.between_batches || info.trainable) return -1;
    for (auto const& each : plan.updates)
      if (each.weight == as<operations::weight>(id).index) return each.value;
    return -1;
  }
  /// True if a value is a state and the call's own steps, the last of which become the state.
  static constexpr bool is_ring(int id) {
    if (!is<operations::concatenate>(id) || plan.nodes[id].operand_count != 2 || shape_of(id).rank != 3) return false;
    int const next = next_state(operand(id, 0));
    if (as<operations::concatenate>(id).axis != 1 || next < 0 || !is<operations::slice>(next)) return false;
    auto const& slice = as<operations::slice>(next);
    return operand(next, 0) == id && slice.axis == 1 && slice.step == 1 && slice.begin == rows(operand(id, 1));
  }
  static constexpr bool is_next_of_ring(int id) {
    return is<operations::slice>(id) && is_ring(operand(id, 0)) && next_state(operand(operand(id, 0), 0)) == id;
  }
  static constexpr bool is_state_of_ring(int id) {
    int const next = next_state(id);
    return next >= 0 && is_next_of_ring(next);
  }
  /// True if a value is a state that each call replaces as a whole.
  static constexpr bool is_kept_state(int id) {
    int const next = next_state(id);
    return next >= 0 && !is_next_of_ring(next);
  }
  /// Rows that a ring keeps between calls.
  static constexpr int kept_rows(int ring) { return rows(operand(ring, 0)); }
  /// The window of a convolution or a pooling; else one place.
  static constexpr operations::window window_of(int id) {
    if (is<operations::convolution>(id)) return as<operations::convolution>(id).windows[0];
    return is<operations::pooling>(id) ? as<operations::pooling>(id).windows[0] : operations::window{};
  }
  /// True if an operation has a window over a ring, which spans the kept rows and one more.
  static constexpr bool is_window(int id) {
    if ((!is<operations::convolution>(id) && !is<operations::pooling>(id)) || !is_ring(operand(id, 0))) return false;
    auto const window = window_of(id);
    return window.stride == 1 && window.before == 0 && window.after == 0 &&
           (window.size - 1) * window.dilation == kept_rows(operand(id, 0));
  }
  /// True if each channel is a number of the same channel's under the window: a pooling, or a depthwise convolution.
  static constexpr bool is_window_map(int id) {
    return is_window(id) &&
           (is<operations::pooling>(id) || (as<operations::convolution>(id).groups == columns(id) && columns(id) > 1 &&
                                            columns(operand(id, 0)) == columns(id)));
  }
  /// True if an operation is the product of the rows under a window with a matrix, or with one for each group.
  static constexpr bool is_window_product(int id) { return is_window(id) && !is_window_map(id); }
  /// The number of products of parts of a row, which follow each other in it.
  static constexpr int groups_of(int id) { return is_window_product(id) ? as<operations::convolution>(id).groups : 1; }
};

}  // namespace stagecraft::cpu
