// SPDX-License-Identifier: BSD-3-Clause
// The states that stateful layers keep from batch to batch, as users see them. Keras counterpart: `states` and
// `reset_states` of RNN, `reset_states` of Model.
#pragma once

#include <stagecraft/diagnostics/compile_error.hpp>
#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/training/weight_views.hpp>
#include <array>
#include <cstddef>
#include <vector>

namespace stagecraft::trainers {

/// All states of a model, as indices of graph_of<M>.parameters.
template <class M>
inline constexpr auto all_states = [] {
  std::array<int, count_weights<M>(true)> result{};
  std::size_t next = 0;
  for (std::size_t i = 0; i < graph_of<M>.parameters.size(); ++i)
    if (graph_of<M>.parameters[i].between_batches) result[next++] = static_cast<int>(i);
  return result;
}();

/// The states of the layers with a name, and the number of these layers, `layers`.
template <class M>
constexpr growing_array<int> find_states(std::string_view name, int& layers) {
  growing_array<int> result;
  for (auto const& layer : graph_of<M>.layers) {
    if (layer.name != name || layers++ > 0) continue;
    for (int i = layer.first_parameter; i < layer.first_parameter + layer.parameter_count; ++i)
      if (graph_of<M>.parameters[i].between_batches) result.push_back(i);
  }
  return result;
}
template <class M, fixed_name Name>
inline constexpr std::size_t count_states = [] {
  int layers = 0;
  return find_states<M>(Name, layers).size();
}();

/// Reports E1067 for a name that no layer has, or several have; E1090 for a layer that keeps no states.
template <class M, fixed_name Name>
inline constexpr diagnostic layer_states_problem = [] {
  diagnostic problem;
  int layers = 0;
  bool const has_none = find_states<M>(Name, layers).empty();
  if (layers != 1)
    problem.report(1067, "model '", graph_of<M>.name(), "' has ", layers == 0 ? "no layer" : "several layers",
                   " called '", Name, "'; give the one that is meant a name of its own with .named(...)");
  if (has_none)
    problem.report(1090, "layer '", Name, "' of model '", graph_of<M>.name(),
                   "' keeps no states from batch to batch; recurrent layers do that with .stateful = true");
  return problem;
}();

/// The states of a layer, in their order.
template <class M, fixed_name Name>
inline constexpr auto states_of_layer = [] {
  static_assert(report<layer_states_problem<M, Name>>());
  int layers = 0;
  auto const found = find_states<M>(Name, layers);
  std::array<int, count_states<M, Name>> result{};
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = found[i];
  return result;
}();

/// Sets states to zeros.
template <class M, auto const& States, class Session>
void clear_states(Session& session) {
  for_each_weight<States>(session, []<std::size_t State>(Session& to, std::size_t) {
    std::vector<float> const zeros(static_cast<std::size_t>(graph_of<M>.parameters[State].size()));
    to.template write_weight<State>(zeros.data());
  });
}

}  // namespace stagecraft::trainers
