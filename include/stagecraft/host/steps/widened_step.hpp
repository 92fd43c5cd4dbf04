// SPDX-License-Identifier: BSD-3-Clause
// Where a step of the host finds its tensors as floats, if they are stored in 16 bits: in a room of the device that
// each step fills anew. Constants only.
#pragma once

#include <stagecraft/plan/model_plan.hpp>
#include <stagecraft/plan/value_types.hpp>

namespace stagecraft::cpu {

/// Whether a call that computes in 16 bits reads an input that has more of them: then its steps find a rounded copy.
/// Numbers that count something stay as they are.
template <class Plan, int Call>
constexpr bool casts_input(int input) {
  if constexpr (!has_own_types<typename Plan::job>) {
    return false;
  } else if constexpr (!is_half(computed_type_of<typename Plan::job, Call>) ||
                       Plan::model_plan.calls[Call].needs.view) {
    return false;
  } else {
    return !Plan::model_plan.calls[input].is_exact && !is_half(value_types_of<typename Plan::job>[input]);
  }
}

/// The steps of one call; offsets are floats from the beginning of the room. `Call` counts as in graph_of<M>.calls.
template <class Plan, int Call>
struct widened_step {
  static constexpr auto const& node = Plan::graph.call(Call);

  /// Floats of a batch, in whole cache lines.
  [[nodiscard]] static constexpr long long floats_of(int call) {
    return (static_cast<long long>(Plan::model_plan.batch) * Plan::graph.call(call).shape.size() + 15) / 16 * 16;
  }
  [[nodiscard]] static constexpr int input_call(int index) { return Plan::graph.inputs[node.first_input + index]; }
  [[nodiscard]] static constexpr long long input(int index) {
    long long offset = 0;
    for (int i = 0; i < index; ++i) offset += floats_of(input_call(i));
    return offset;
  }
  static constexpr long long output = input(node.input_count);
  static constexpr long long output_gradient = output + floats_of(Call);
  [[nodiscard]] static constexpr long long input_gradient(int index) {
    return output_gradient + floats_of(Call) + input(index);
  }
  /// What the forward and, while training, the backward step need.
  static constexpr long long floats = Plan::trains ? input_gradient(node.input_count) : output_gradient;
};

}  // namespace stagecraft::cpu
