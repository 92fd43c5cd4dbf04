// SPDX-License-Identifier: BSD-3-Clause
// The passes of a model without stages, whose tensors share one block as its program says: nothing else works between
// the forward and the backward pass of a micro-batch.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/plan/pass_plan.hpp>
#include <stagecraft/plan/pipeline_program.hpp>
#include <stagecraft/plan/program.hpp>
#include <array>
#include <cstddef>

namespace stagecraft::detail {

template <class Job, bool Backward>
constexpr bool has_step(std::size_t call) {
  constexpr auto const& program = program_for<Job>;
  auto const& planned = program.calls[call];
  return !Job::graph.calls[call].is_input && !planned.needs.view && !planned.is_left_out &&
         (!Backward || planned.needs_gradient);
}

template <class Job, bool Backward>
inline constexpr std::size_t steps_of_whole_pass = [] {
  std::size_t count = 0;
  for (std::size_t i = 0; i < Job::graph.calls.size(); ++i) count += has_step<Job, Backward>(i) ? 1 : 0;
  return count;
}();

/// What is written to places of its own, and added afterwards.
template <class Job>
inline constexpr std::size_t additions_of_whole_pass = [] {
  std::size_t count = 0;
  for (long long const own : program_for<Job>.own_gradient) count += own >= 0 ? 1 : 0;
  return count;
}();

template <class Job>
constexpr auto place_whole_pass() {
  constexpr auto const& graph = Job::graph;
  constexpr auto const& program = program_for<Job>;
  pass_places<graph.calls.size(), graph.inputs.size(), graph.ends.size()> result;
  for (std::size_t i = 0; i < graph.calls.size(); ++i) {
    auto const& planned = program.calls[i];
    result.value[i] = {planned.value};
    result.saved[i] = {planned.saved};
    result.gradient[i] = {planned.gradient};
    result.epilogue[i] = planned.epilogue;
  }
  for (std::size_t edge = 0; edge < graph.inputs.size(); ++edge) {
    auto const own = program.own_gradient[edge];
    result.input_gradient[edge] = {own >= 0 ? own : program.calls[graph.inputs[edge]].gradient};
    result.adds_gradient[edge] = program.adds_gradient[edge];
  }
  for (std::size_t k = 0; k < result.loss_gradient.size(); ++k)
    result.loss_gradient[k] = {program.calls[graph.ends[k]].gradient};
  result.loss_scratch = {program.loss_gradient};
  return result;
}

template <class Job, bool Backward>
constexpr auto plan_whole_pass() {
  constexpr auto const& graph = Job::graph;
  constexpr auto const& program = program_for<Job>;
  constexpr std::size_t steps = steps_of_whole_pass<Job, Backward>,
                        additions = Backward ? additions_of_whole_pass<Job> : 0;
  auto const places = place_whole_pass<Job>();
  pass_plan<decltype(place_whole_pass<Job>()), steps, 0, 0, additions, 0, 0> plan;
  plan.places = places;
  std::size_t step = 0, added = 0;
  for (std::size_t i = 0; i < graph.calls.size(); ++i) {
    auto const call = Backward ? graph.calls.size() - 1 - i : i;
    if (!has_step<Job, Backward>(call)) continue;
    plan.steps[step++] = {static_cast<int>(call), Backward};
    if constexpr (additions > 0) {
      auto const& node = graph.calls[call];
      for (int k = node.first_input; k < node.first_input + node.input_count; ++k) {
        auto const edge = static_cast<std::size_t>(k);
        if (program.own_gradient[edge] < 0) continue;
        int const root = program.calls[graph.inputs[edge]].root;
        plan.additions[added++] = {static_cast<int>(step), places.input_gradient[edge], places.gradient[root],
                                   stored_floats(static_cast<long long>(program.batch) * graph.call(root).shape.size(),
                                                 program.calls[root].stored),
                                   root};
      }
    }
  }
  return plan;
}

}  // namespace stagecraft::detail

namespace stagecraft::plan {

/// The forward or the backward pass of a model without stages that has a device for itself.
template <class Job, bool Backward>
inline constexpr auto whole_pass_of = detail::plan_whole_pass<Job, Backward>();

}  // namespace stagecraft::plan
