// SPDX-License-Identifier: BSD-3-Clause
// Which forward steps a stage's backward pass carries out again, instead of finding their results kept.
#pragma once

#include <stagecraft/description/job.hpp>
#include <stagecraft/plan/pipeline_flow.hpp>
#include <array>
#include <cstddef>

namespace stagecraft::plan {

/// The calls that one stage recomputes. Segments lie between its recomputation checkpoints, in the order of calls.
template <std::size_t Calls>
struct stage_recomputation {
  std::array<bool, Calls> again{};
  std::array<int, Calls> segment{};
  int segments = 1;
};

/// Values that the backward step of a call reads: its own output, and its inputs.
struct backward_reads {
  bool output = false;
  bool inputs = false;

  constexpr explicit backward_reads(planned_call const& call)
      : output(call.needs_gradient && !call.needs.view && call.needs.output),
        inputs(call.needs_gradient && !call.needs.view && call.needs.input) {}
};

template <class Job, int Stage>
class recomputation_finder {
  static constexpr auto const& graph = Job::graph;
  static constexpr auto const& model_plan = model_plan_for<typename Job::in_training>;
  static constexpr auto const& flow = flow_of<Job>;
  static constexpr std::size_t calls = graph.calls.size();
  static constexpr recomputation_mode mode = mode_in(Job::options.schedule, Job::options.recomputation_mode);
  static constexpr bool interleaves = mode == recomputation_mode::recompute_and_backpropagate_interleaved;
  static constexpr bool is_last = Stage + 1 == flow.stages;

 public:
  constexpr stage_recomputation<calls> find() {
    if (mode == recomputation_mode::none || (is_last && !interleaves)) return result_;
    if (interleaves) find_segments();
    find_candidates();
    std::array<bool, calls> wanted{};
    auto const want_inputs = [&](std::size_t i) {
      for (int const input : graph.inputs_of(static_cast<int>(i))) wanted[root(input)] = true;
    };
    for (std::size_t i = 0; i < calls; ++i) {
      if (flow.stage[i] != Stage) continue;
      backward_reads const reads(model_plan.calls[i]);
      if (reads.output || (model_plan.calls[i].needs_gradient && model_plan.calls[i].needs.saved > 0)) wanted[i] = true;
      if (reads.inputs) want_inputs(i);
    }
    for (std::size_t i = calls; i-- > 0;) {
      if (!wanted[i] || !candidate_[i]) continue;
      result_.again[i] = true;
      want_inputs(i);
    }
    return result_;
  }

 private:
  static constexpr std::size_t root(int call) { return static_cast<std::size_t>(model_plan.calls[call].root); }
  static constexpr bool is_checkpoint(std::size_t call) {
    return graph.layer_of(static_cast<int>(call)).class_name == "RecomputationCheckpoint";
  }

  constexpr void find_segments() {
    int segment = 0;
    for (std::size_t i = 0; i < calls; ++i) {
      if (flow.stage[i] != Stage || graph.calls[i].is_input) continue;
      if (is_checkpoint(i)) ++segment;
      result_.segment[i] = segment;
    }
    result_.segments = segment + 1;
  }

  // Not what has a state of its own, nor what checkpoints keep or what a later segment needs before it is there again.
  constexpr void find_candidates() {
    for (std::size_t i = 0; i < calls; ++i) {
      auto const& call = graph.calls[i];
      candidate_[i] = flow.stage[i] == Stage && !call.is_input && !model_plan.calls[i].needs.view &&
                      !(is_last && result_.segment[i] + 1 == result_.segments);
      for (auto const& weight : graph.parameters_of(call.layer)) candidate_[i] = candidate_[i] && !weight.is_state();
    }
    if (!interleaves) return;
    for (std::size_t i = 0; i < calls; ++i) {
      if (flow.stage[i] != Stage) continue;
      for (int const input : graph.inputs_of(static_cast<int>(i)))
        if (flow.stage[root(input)] == Stage && (is_checkpoint(i) || result_.segment[i] > result_.segment[root(input)]))
          candidate_[root(input)] = false;
    }
  }

  stage_recomputation<calls> result_;
  std::array<bool, calls> candidate_{};
};

template <class Job, int Stage>
inline constexpr auto recomputation_of = recomputation_finder<Job, Stage>().find();

}  // namespace stagecraft::plan
