// SPDX-License-Identifier: BSD-3-Clause
// Which calls of a model predictions do not need: penalties, which are added to a loss.
#pragma once

#include <stagecraft/description/inference.hpp>
#include <stagecraft/graph/graph.hpp>
#include <stagecraft/graph/growing_array.hpp>

namespace stagecraft::plan {

/// Whether a job's plan is one of predictions, whose model has penalties.
template <class Job>
inline constexpr bool leaves_out_penalties = only_infers<Job::training> &&
                                             Job::graph.ends.size() > Job::graph.outputs_of(0).size();

/// By calls: 1 for those that no output depends on. Inputs, which the host brings, are none of them.
constexpr growing_array<char> find_left_out_calls(graph_view const& graph) {
  growing_array<char> left_out(graph.calls.size(), 1);
  for (int const output : graph.outputs_of(0)) left_out[output] = 0;
  for (int i = static_cast<int>(graph.calls.size()); i-- > 0;) {
    if (graph.call(i).is_input) left_out[i] = 0;
    for (int const input : graph.inputs_of(i))
      if (left_out[i] == 0) left_out[input] = 0;
  }
  return left_out;
}

}  // namespace stagecraft::plan
