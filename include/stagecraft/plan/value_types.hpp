// SPDX-License-Identifier: BSD-3-Clause
// The types of the values of a job's calls. Keras counterpart: the dtype of a KerasTensor.
#pragma once

#include <stagecraft/description/types_of_calls.hpp>
#include <stagecraft/plan/model_plan.hpp>
#include <array>
#include <cstddef>

namespace stagecraft::plan {

/// The type of each call's value: a view has the type of the tensor that it shows, and numbers that count something are
/// floats.
template <class Job>
inline constexpr auto value_types_of = [] {
  auto const& model_plan = model_plan_for<Job>;
  std::array<dtype, Job::graph.calls.size()> types{};
  for (std::size_t i = 0; i < types.size(); ++i)
    types[i] = model_plan.calls[i].is_exact
                   ? dtype::float32
                   : computed_type(Job::graph, model_plan.calls[i].root, Job::training.dtype_policy.compute_dtype);
  return types;
}();

/// For each call: true if IPUs have its value. They compute it, or read what the host computes or brings. A view
/// is what it shows.
template <class Job>
inline constexpr auto values_on_ipus = [] {
  auto const& graph = Job::graph;
  auto const& model_plan = model_plan_for<Job>;
  constexpr std::size_t count = Job::graph.calls.size();
  std::array<bool, count> result{}, is_read{};
  bool some_on_host = false;
  for (std::size_t i = 0; i < count; ++i) {
    some_on_host = some_on_host || is_on_host(graph, static_cast<int>(i));
    if (is_on_host(graph, static_cast<int>(i))) continue;
    auto const& node = graph.calls[i];
    if (!node.is_input) is_read[model_plan.calls[i].root] = true;
    for (int k = node.first_input; k < node.first_input + node.input_count && !model_plan.calls[i].needs.view; ++k) {
      auto const input = static_cast<std::size_t>(graph.inputs[k]);
      is_read[model_plan.calls[input].root] = true;
    }
  }
  for (std::size_t i = 0; i < count; ++i) result[i] = !some_on_host || is_read[model_plan.calls[i].root];
  return result;
}();

}  // namespace stagecraft::plan
