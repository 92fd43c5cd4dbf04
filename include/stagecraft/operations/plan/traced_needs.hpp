// SPDX-License-Identifier: BSD-3-Clause
// The values that the steps of a traced layer read and keep, without their places in memory.
#pragma once

#include <stagecraft/operations/plan/value_places.hpp>
#include <cstdint>

namespace stagecraft::operations {

/// Differentiates the trace, if the layer trains.
struct traced_needs {
  bool backward_reads_input = false, backward_reads_output = false;
  bool is_view =
      false;  ///< the output has the elements of the only input in the same order, and so have their gradients
  /// Each element of an input's gradient is an element of the output's gradient, or its negative, or 0.
  bool adds_exactly = false;
  std::int64_t kept_floats = 0;  ///< from the forward step to the backward step
  unsigned updated_weights = 0;  ///< bit i: the forward step writes weight i
  /// Bit i: the gradient of weight i is a sum of rows of the output's gradient, where an input names the rows.
  unsigned row_gradients = 0;

  constexpr traced_needs(trace& traced, bool trains) {
    if (traced.list.problem.failed() || traced.outputs.empty()) return;
    is_view = traced.inputs.size() == 1 && traced.weights.empty() &&
              source_of(traced, traced.outputs[0], false) == traced.inputs[0];
    find_updates(traced);
    if (!trains) return;
    differentiate(traced);
    adds_exactly = true;
    for (std::size_t i = 0; i < traced.inputs.size(); ++i) {
      int const id = traced.gradients[i];
      is_view = is_view && id >= 0 && source_of(traced, id, false) == traced.seeds[0];
      adds_exactly = adds_exactly && (id < 0 || source_of(traced, id, true) == traced.seeds[0]);
    }
    if (is_view) return;
    steps const both(traced, true);
    kept_floats = value_places::kept_floats(traced.list, both.kept);
    backward_reads_output = both.backward_reads_output;
    for (int const id : traced.inputs) backward_reads_input = backward_reads_input || both.backward_reads(id);
    for (std::size_t i = 0; i < traced.weights.size() && i < 32; ++i) {
      int const id = traced.gradients[traced.inputs.size() + i];
      if (id >= 0 && has_rows_of_output(traced, id)) row_gradients |= 1U << i;
    }
  }

 private:
  constexpr void find_updates(trace const& traced) {
    for (int id = 0; id < traced.forward_count; ++id)
      if (traced.list.node_of(id).what.is<update>())
        updated_weights |= 1U << traced.list.node_of(traced.list.operand(id, 0)).what.as<weight>().index;
  }
  [[nodiscard]] static constexpr bool has_rows_of_output(trace const& traced, int id) {
    if (!traced.list.node_of(id).what.is<scatter_add>()) return false;
    int const indices = source_of(traced, traced.list.operand(id, 1), false);
    bool is_input = false;
    for (int const input : traced.inputs) is_input = is_input || input == indices;
    return is_input && source_of(traced, traced.list.operand(id, 0), false) == traced.seeds[0];
  }
  /// The operation whose elements an operation has: in their order or, if `moves`, moved or negated.
  [[nodiscard]] static constexpr int source_of(trace const& traced, int id, bool moves) {
    while (true) {
      auto const& what = traced.list.node_of(id).what;
      auto const* elementwise = what.if_is<map>();
      bool const is_moved =
          what.is_any<slice, pad>() || (elementwise != nullptr && elementwise->apply == function::negative);
      if (!is_alias(what) && !(moves && is_moved)) return id;
      id = traced.list.operand(id, 0);
    }
  }
};

}  // namespace stagecraft::operations
