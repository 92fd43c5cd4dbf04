// SPDX-License-Identifier: BSD-3-Clause
// How values and gradients flow between a model's stages: who writes a gradient first, who adds to it, and whose part
// of it travels alone. Constants of a model, whatever its schedule.
#pragma once

#include <stagecraft/pipeline/pipelined.hpp>
#include <stagecraft/plan/model_plan.hpp>
#include <array>
#include <cstddef>
#include <cstdint>

namespace stagecraft::plan {

/// The way in which the backward step of a call hands on the gradient of one of its inputs. Gradients of a tensor are
/// added in one order, losses first and then calls from the last to the first, so that they have the same bits with and
/// without stages.
enum class gradient_role : unsigned char {
  none,   ///< nobody wants it
  first,  ///< writes it, before all others
  add,    ///< adds to what the others have written, which is at hand
  part    ///< writes a part of its own, since others in other stages come first; the tensor's own stage adds it
};

template <std::size_t Calls, std::size_t Edges, std::size_t Outputs>
struct pipeline_flow {
  int stages = 1;
  std::array<int, Calls> stage{};  ///< the stage of each call; inputs are in the first stage
  std::array<gradient_role, Edges> role{};
  std::array<gradient_role, Outputs> loss_role{};
  std::array<int, Calls> first_stage{};  ///< the stage that writes the gradient of a tensor first; -1: none does
  std::array<bool, Calls> loss_first{};  ///< true if that is a loss, after the last stage's forward pass
  /// The other writers in their order, as edges; -1 at the end.
  std::array<int, Calls> first_edge{};
  std::array<int, Edges> next_edge{};
};

template <class M>
constexpr int stage_of_graph_call(int call) {
  int const stage = is_pipelined<M> && !graph_of<M>.call(call).is_input ? checked_stages<M>.stage(call) : 0;
  return stage < 0 ? 0 : stage;
}

template <class M, int Batch, std::uint64_t Logits, execution_mode Mode, stored_types Stored, bool LeavesPenalties>
constexpr auto find_flow() {
  constexpr auto const& graph = graph_of<M>;
  constexpr auto const& model_plan = model_plan_of<M, Batch, Mode, Logits, Stored, LeavesPenalties>;
  constexpr std::size_t calls = graph.calls.size(), edges = graph.inputs.size(), outputs = graph.ends.size();
  pipeline_flow<calls, edges, outputs> flow;
  std::array<bool, calls> together{};  // only the first stage has written so far
  std::array<int, calls> last_edge{};
  flow.first_stage.fill(-1);
  flow.first_edge.fill(-1);
  flow.next_edge.fill(-1);
  last_edge.fill(-1);
  for (std::size_t i = 0; i < calls; ++i) {
    flow.stage[i] = stage_of_graph_call<M>(static_cast<int>(i));
    if (flow.stage[i] >= flow.stages) flow.stages = flow.stage[i] + 1;
  }
  for (std::size_t k = 0; k < outputs; ++k) {
    auto const root = model_plan.calls[graph.ends[k]].root;
    if (!model_plan.calls[root].needs_gradient) continue;
    flow.loss_role[k] = flow.first_stage[root] < 0 ? gradient_role::first : gradient_role::add;
    flow.first_stage[root] = flow.stages - 1;
    flow.loss_first[root] = true;  // and sent on at once, before the backward pass of its stage
  }
  for (std::size_t i = calls; i-- > 0;) {
    if (!model_plan.calls[i].needs_gradient || model_plan.calls[i].needs.view) continue;
    auto const& node = graph.calls[i];
    for (int edge = node.first_input; edge < node.first_input + node.input_count; ++edge) {
      auto const root = model_plan.calls[graph.inputs[edge]].root;
      if (!model_plan.calls[root].needs_gradient) continue;
      (last_edge[root] < 0 ? flow.first_edge[root] : flow.next_edge[last_edge[root]]) = edge;
      last_edge[root] = edge;
      auto& role = flow.role[edge];
      if (flow.first_stage[root] < 0) {
        role = gradient_role::first;
        flow.first_stage[root] = flow.stage[i];
        together[root] = true;
      } else if (together[root] && flow.stage[i] == flow.first_stage[root]) {
        role = gradient_role::add;
      } else {
        together[root] = false;
        role = flow.stage[i] == flow.stage[root] ? gradient_role::add : gradient_role::part;
      }
    }
  }
  return flow;
}

// One constant for all descriptions that have the same plan.
template <class M, int Batch, std::uint64_t Logits, execution_mode Mode, stored_types Stored, bool LeavesPenalties>
inline constexpr auto flow_of_plan = find_flow<M, Batch, Logits, Mode, Stored, LeavesPenalties>();

template <class Job>
inline constexpr auto const& flow_of =
    flow_of_plan<typename Job::model, Job::training.batch_size, outputs_with_logits<typename Job::described>,
                 Job::described::mode, stored_types_of<Job>, leaves_out_penalties<Job>>;

}  // namespace stagecraft::plan
