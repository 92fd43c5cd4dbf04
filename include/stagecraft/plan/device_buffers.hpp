// SPDX-License-Identifier: BSD-3-Clause
// What a device of a pipeline holds from one pass to another: rings of values, of what layers have kept, and of
// gradients on their way.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/frozen.hpp>
#include <stagecraft/plan/arena.hpp>
#include <stagecraft/plan/pipeline_flow.hpp>
#include <stagecraft/plan/recomputation.hpp>
#include <stagecraft/plan/timetable_of.hpp>
#include <array>
#include <cstddef>

namespace stagecraft::plan {

/// The mode that most of a session is made for: inference if the description does not say how weights are updated.
template <class Job>
inline constexpr execution_mode main_mode = is_trained<Job> ? execution_mode::training : execution_mode::inference;

/// The timetable that the plan of memory follows: in inference, executions of any length have room.
template <class Job>
constexpr timetable plan_timetable() {
  constexpr int stages = static_cast<int>(devices_of_stages<typename Job::model>.size());
  if constexpr (Job::trains) {
    static_assert(report<schedule_problem<typename Job::planned>>());
    return unchecked_timetable<typename Job::planned>;
  } else {
    return {Job::options.schedule, devices_of_stages<typename Job::model>, 4 * stages * stages, false};
  }
}
template <class Job>
inline constexpr timetable planning_timetable = plan_timetable<Job>();

template <class Job>
inline constexpr auto recomputations_of = array_of_each<devices_of_stages<typename Job::model>.size()>(
    []<int Stage>() { return recomputation_of<Job, Stage>; });

/// The rings of one device, indexed by calls of the graph, by edges for parts of gradients.
template <std::size_t Calls, std::size_t Edges>
struct device_buffers {
  std::array<buffer_place, Calls> value{};     ///< tensors that another pass reads, or another device has sent
  std::array<buffer_place, Calls> saved{};     ///< the numbers that layers keep for their backward step
  std::array<buffer_place, Calls> gradient{};  ///< gradients of this device's tensors that another pass writes first
  std::array<buffer_place, Edges> part{};      ///< other terms of the gradients, from other passes
  std::array<int, Calls> last_reader{};        ///< the last pass that reads a value here; -1: none
  long long floats = 0;
};

template <class Job, int Device>
class device_buffer_planner {
  static constexpr auto const& graph = Job::graph;
  static constexpr auto const& model_plan = model_plan_for<Job>;
  static constexpr auto const& flow = flow_of<Job>;
  static constexpr auto const& table = planning_timetable<Job>;
  static constexpr std::size_t calls = graph.calls.size(), edges = graph.inputs.size();
  static constexpr bool trains = Job::trains;
  static constexpr bool offloads = trains && Job::options.offload_activations == offload::remote && flow.stages > 1;

 public:
  constexpr device_buffers<calls, edges> make() {
    find_readers();
    for (std::size_t i = 0; i < calls; ++i) {
      int const writer = table.forward_pass(flow.stage[i]);
      bool const here = is_here(flow.stage[i]);
      if (result_.last_reader[i] >= 0 && (!here || result_.last_reader[i] > writer))
        result_.value[i] = rings_.place(table.alive(writer, result_.last_reader[i]), floats_of(i));
      if constexpr (trains)
        if (here) place_for_backward(i);
    }
    result_.floats = rings_.floats();
    return result_;
  }

 private:
  static constexpr int root(int call) { return model_plan.calls[call].root; }
  static constexpr bool is_here(int stage) { return table.device_of_stage(stage) == Device; }
  static constexpr long long floats_of(std::size_t call) { return stored_floats_of<Job>(static_cast<int>(call)); }
  /// True if a stage keeps its tensors for the backward pass in remote memory. The last stage needs them at once.
  static constexpr bool offloads_stage(int stage) { return offloads && stage + 1 < flow.stages; }

  constexpr void read(std::size_t call, int pass) {
    if (result_.last_reader[call] < pass) result_.last_reader[call] = pass;
  }

  constexpr void find_readers() {
    result_.last_reader.fill(-1);
    for (std::size_t i = 0; i < calls; ++i) {
      int const stage = flow.stage[i];
      if (!is_here(stage) || graph.calls[i].is_input || model_plan.calls[i].needs.view ||
          model_plan.calls[i].is_left_out)
        continue;
      for (int const input : graph.inputs_of(static_cast<int>(i))) read(root(input), table.forward_pass(stage));
      if constexpr (trains)
        if (!offloads_stage(stage)) find_backward_readers(i, stage);
    }
    if (is_here(flow.stages - 1))
      for (int const output : graph.ends)
        if (!model_plan.calls[output].is_left_out) read(root(output), table.forward_pass(flow.stages - 1));
  }

  constexpr void find_backward_readers(std::size_t i, int stage) {
    auto const& again = recomputations_of<Job>[stage].again;
    backward_reads const reads(model_plan.calls[i]);
    if (reads.output && !again[i]) read(i, table.backward_pass(stage));
    if (!reads.inputs && !again[i]) return;
    for (int const input : graph.inputs_of(static_cast<int>(i)))
      if (!(flow.stage[root(input)] == stage && again[root(input)])) read(root(input), table.backward_pass(stage));
  }

  constexpr void place_for_backward(std::size_t i) {
    auto const& own = model_plan.calls[i];
    if (!own.needs_gradient || own.root != static_cast<int>(i)) return;
    int const stage = flow.stage[i], backward = table.backward_pass(stage);
    if (own.needs.saved > 0 && !own.needs.view && !recomputations_of<Job>[stage].again[i] && !offloads_stage(stage))
      result_.saved[i] = rings_.place(table.alive(table.forward_pass(stage), backward), own.needs.saved);
    if (flow.loss_first[i])
      result_.gradient[i] = rings_.place(table.alive(table.forward_pass(flow.stages - 1), backward), floats_of(i));
    else if (flow.first_stage[i] >= 0 && flow.first_stage[i] != stage)
      result_.gradient[i] = rings_.place(table.alive(table.backward_pass(flow.first_stage[i]), backward), floats_of(i));
    for (int edge = flow.first_edge[i]; edge >= 0; edge = flow.next_edge[edge])
      if (flow.role[edge] == gradient_role::part)
        result_.part[edge] =
            rings_.place(table.alive(table.backward_pass(flow.stage[reader_of(edge)]), backward), floats_of(i));
  }
  static constexpr int reader_of(int edge) {
    for (std::size_t i = 0; i < calls; ++i)
      if (edge >= graph.calls[i].first_input && edge < graph.calls[i].first_input + graph.calls[i].input_count)
        return static_cast<int>(i);
    return 0;
  }

  device_buffers<calls, edges> result_;
  ring_allocator rings_;
};

template <class Job, int Device>
inline constexpr auto device_buffers_of = device_buffer_planner<Job, Device>().make();

}  // namespace stagecraft::plan
