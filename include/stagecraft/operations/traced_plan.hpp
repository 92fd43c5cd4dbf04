// SPDX-License-Identifier: BSD-3-Clause
// How a machine with one memory carries out a traced layer: its steps, and where their values lie. Level 1.
#pragma once

#include <stagecraft/operations/value_places.hpp>
#include <utility>

namespace stagecraft::operations {

/// A weight's new value, which a forward step writes when it has ended.
struct weight_update {
  int weight = 0;
  int value = 0;  ///< the operation
};

/// Exists in constant evaluation; `frozen_plan` is what is kept of it.
struct traced_plan {
  trace traced;
  std::vector<int> forward, backward;                  ///< operations in their order
  std::vector<place> forward_places, backward_places;  ///< of the values of all operations
  std::vector<weight_update> updates;
  std::int64_t kept_floats = 0;                                ///< from the forward step to the backward step
  std::int64_t forward_workspace = 0, backward_workspace = 0;  ///< floats
  bool backward_reads_input = false;

  /// `wanted`: whether the gradient of an input (then of a weight) is wanted; all are, if it is empty. What is kept
  /// does not depend on it.
  constexpr traced_plan(trace&& of, bool trains, std::span<bool const> wanted = {}) : traced(std::move(of)) {
    if (traced.list.problem.failed() || traced.outputs.empty()) return;
    if (trains) differentiate(traced);
    steps const whole(traced, trains);
    for (std::size_t i = 0; i < wanted.size(); ++i)
      if (!wanted[i] && i < traced.gradients.size()) traced.gradients[i] = -1;
    steps const smaller(traced, trains);
    backward = smaller.backward;
    forward = whole.forward;
    kept_floats = value_places::kept_floats(traced.list, whole.kept);
    for (int const id : traced.inputs) backward_reads_input = backward_reads_input || whole.backward_reads(id);

    std::vector<int> results = traced.outputs;
    for (int const id : forward)
      if (traced.list.node_of(id).what.is<update>()) {
        int const value = traced.list.operand(id, 1);
        updates.push_back({traced.list.node_of(traced.list.operand(id, 0)).what.as<weight>().index, value});
        results.push_back(value);
      }
    value_places const in_forward(traced, forward, results, whole.kept, true);
    forward_places = in_forward.places;
    forward_workspace = in_forward.workspace;
    if (!trains) return;
    results.clear();
    for (int const id : traced.gradients)
      if (id >= 0) results.push_back(id);
    value_places const in_backward(traced, backward, results, whole.kept, false);
    backward_places = in_backward.places;
    backward_workspace = in_backward.workspace;
  }
};

/// How long the arrays of a frozen plan are.
struct plan_sizes {
  std::size_t nodes = 0, operands = 0, forward = 0, backward = 0, updates = 0, gradients = 0;
};

/// What `traced_plan` is, without memory of its own to manage: usable as a constexpr variable.
template <plan_sizes Sizes>
struct frozen_plan {
  std::array<node, Sizes.nodes> nodes{};
  std::array<int, Sizes.operands> operands{};
  std::array<int, Sizes.forward> forward{};
  std::array<int, Sizes.backward> backward{};
  std::array<place, Sizes.nodes> forward_places{};
  std::array<place, Sizes.backward == 0 ? 0 : Sizes.nodes> backward_places{};
  std::array<weight_update, Sizes.updates> updates{};
  std::array<int, Sizes.gradients> gradients{};
  int output = 0;
  std::int64_t forward_workspace = 0, backward_workspace = 0;

  constexpr explicit frozen_plan(traced_plan const& from)
      : output(from.traced.outputs[0]),
        forward_workspace(from.forward_workspace),
        backward_workspace(from.backward_workspace) {
    auto const copy = [](auto const& source, auto& target) {
      for (std::size_t i = 0; i < target.size(); ++i) target[i] = source[i];
    };
    copy(from.traced.list.nodes, nodes);
    copy(from.traced.list.operands, operands);
    copy(from.forward, forward);
    copy(from.backward, backward);
    copy(from.forward_places, forward_places);
    copy(from.backward_places, backward_places);
    copy(from.updates, updates);
    copy(from.traced.gradients, gradients);
  }
};

/// Plans and freezes: `make()` gives a traced_plan in constant evaluation, and is called twice.
template <class Make>
constexpr auto freeze_plan(Make) {
  constexpr plan_sizes sizes = [] {
    traced_plan const made = Make{}();
    return plan_sizes{made.traced.list.nodes.size(), made.traced.list.operands.size(),
                      made.forward.size(),           made.backward.size(),
                      made.updates.size(),           made.traced.gradients.size()};
  }();
  return frozen_plan<sizes>(Make{}());
}

}  // namespace stagecraft::operations
