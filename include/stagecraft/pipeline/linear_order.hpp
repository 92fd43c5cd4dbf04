// SPDX-License-Identifier: BSD-3-Clause
// A model's calls as a linear order to be cut into stages: which calls stay together, and what crosses a cut.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/graph.hpp>
#include <stagecraft/models/model_graph.hpp>
#include <array>
#include <cstddef>

namespace stagecraft::pipeline {

/// The calls of a model in Keras's order, which is one in which they can be carried out, as positions. The lists fit
/// into partition_costs.
template <std::size_t Calls, std::size_t Positions>
struct linear_order {
  /// True if a position is in the stage of the one before: calls that share weights stay together (E2010).
  std::array<bool, Positions> joined{};
  /// The bytes of one sample that cross a cut right before a position. A tensor crosses all cuts between the call that
  /// computes it and the last one that uses it; a model's inputs come in at the first position, and its outputs are
  /// needed after the last one. A residual connection is a second tensor across its cuts.
  std::array<long long, Positions> bytes_across{};
  /// The position of each call, of an output that of its call; -1 for inputs.
  std::array<int, Calls> position_of{};

  constexpr explicit linear_order(graph_view const& graph) {
    position_of.fill(-1);
    for (std::size_t i = 0; i < Positions; ++i) position_of[graph.order[i]] = static_cast<int>(i);
    for (std::size_t i = 0; i < Calls; ++i) position_of[i] = position_of[graph.producer(static_cast<int>(i))];
    std::array<int, Calls> last_use{};
    last_use.fill(-1);
    for (int const call : graph.order)
      for (int const input : graph.inputs_of(call))
        if (position_of[call] > last_use[input]) last_use[input] = position_of[call];
    for (int const output : graph.ends) last_use[output] = static_cast<int>(Positions) - 1;
    for (std::size_t i = 0; i < Calls; ++i) {
      auto const& call = graph.calls[i];
      int const first = call.is_input ? 0 : position_of[i];
      long long const bytes = static_cast<long long>(call.shape.size()) * size_of(call.type);
      for (int position = first + 1; position <= last_use[i]; ++position) bytes_across[position] += bytes;
      auto const& layer = graph.layer(call.layer);
      if (layer.parameter_count == 0 || layer.call_count < 2 || first < 0) continue;
      for (int position = position_of[layer.first_call] + 1; position <= first; ++position) joined[position] = true;
    }
  }
};

/// The linear order of a model.
template <class M>
inline constexpr linear_order<graph_of<M>.calls.size(), graph_of<M>.order.size()> linear_order_of{graph_of<M>};

}  // namespace stagecraft::pipeline
