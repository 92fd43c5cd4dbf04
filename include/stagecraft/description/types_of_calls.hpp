// SPDX-License-Identifier: BSD-3-Clause
// In which types the calls of a model compute, and in which their weights are kept: a layer's own (Keras's `dtype` of a
// layer), or those of the description's dtype_policy.
#pragma once

#include <stagecraft/description/dtype_policy.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/graph.hpp>
#include <array>
#include <cstddef>

namespace stagecraft::jobs {

/// The types in which values and gradients lie in memory.
struct stored_types {
  /// The type of 16 bits that some of them have; float32: none has one.
  dtype narrow = dtype::float32;
  /// The type of values of layers without a type of their own, and of the model's inputs.
  dtype by_default = dtype::float32;

  friend constexpr bool operator==(stored_types const&, stored_types const&) = default;
};

/// The type in which a call computes. One of several outputs, and a penalty on it, has the type of its layer.
template <class Graph>
constexpr dtype computed_type(Graph const& graph, int call, dtype by_default) {
  auto const* node = &graph.calls[call];
  while (node->is_part()) node = &graph.calls[graph.inputs[node->first_input]];
  auto const type = graph.layers[node->layer].type_of_values;
  return type == dtype::of_policy || node->is_input ? by_default : type;
}

/// The own type of a weight's layer.
constexpr dtype own_type_of_weight(graph_view const& graph, int weight) {
  return graph.layer(graph.layer_of_parameter(weight)).type_of_values;
}

template <class Job>
constexpr stored_types find_stored_types() {
  constexpr dtype_policy policy = Job::training.dtype_policy;
  stored_types result{policy.storage_dtype, policy.storage_dtype};
  if (policy.stores_halves && !is_half(result.narrow))
    for (auto const& layer : Job::graph.layers)
      if (is_half(layer.type_of_values)) result.narrow = layer.type_of_values;
  return result;
}

/// The types of values in the memory of a job's machine.
template <class Job>
inline constexpr stored_types stored_types_of = find_stored_types<Job>();

/// The type in which a call computes, on a job's machine.
template <class Job, int Call>
inline constexpr dtype computed_type_of =
    computed_type(Job::graph, Call, dtype_policy(Job::training.dtype_policy).compute_dtype);

/// The type of each weight.
template <class Job>
inline constexpr auto variable_types_of = [] {
  std::array<dtype, Job::graph.parameters.size() + 1> types{};
  for (std::size_t i = 0; i < Job::graph.parameters.size(); ++i) {
    auto const own = own_type_of_weight(Job::graph, static_cast<int>(i));
    types[i] = own == dtype::of_policy ? Job::training.dtype_policy.variable_dtype : own;
  }
  return types;
}();

/// True if some layer has a type of its own.
template <class Job>
inline constexpr bool has_own_types = [] {
  for (auto const& layer : Job::graph.layers)
    if (layer.type_of_values != dtype::of_policy) return true;
  return false;
}();

/// True if the host carries out a call on a machine with IPUs.
template <class Graph>
constexpr bool is_on_host(Graph const& graph, int call) {
  auto const* node = &graph.calls[call];
  while (node->is_part()) node = &graph.calls[graph.inputs[node->first_input]];
  return graph.layers[node->layer].is_on_host;
}

}  // namespace stagecraft::jobs
