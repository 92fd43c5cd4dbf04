// SPDX-License-Identifier: BSD-3-Clause
// Everything that the steps of a pass know at compile time. Constants only.
#pragma once

#include <stagecraft/description/job.hpp>
#include <stagecraft/description/replicas.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/engine/policy/execution_policy.hpp>
#include <stagecraft/engine/policy/processes.hpp>
#include <stagecraft/engine/policy/weight_storage.hpp>
#include <stagecraft/optimizers/rests_without_gradient.hpp>
#include <stagecraft/plan/passes.hpp>
#include <stagecraft/plan/whole_pass.hpp>
#include <cstddef>

namespace stagecraft::engine {

/// True if a model has a device for itself: then what its passes hold has places that follow from the model's plan
/// alone.
template <class M, class Machine>
inline constexpr bool is_whole = !is_pipelined<M> && policy_of<Machine>::joins_passes;

template <class Job, int Pass>
constexpr auto const& plan_on_machine() {
  if constexpr (is_whole<typename Job::model, typename Job::machine>)
    return whole_pass_of < typename Job::planned, Pass != 0 > ;
  else
    return pass_plan_of<typename Job::planned, Pass>;
}

/// True if the devices of a replica may be in several processes: these cannot have equal numbers of whole replicas.
template <class Job>
inline constexpr bool splits_replicas =
    Job::replicas % processes_of<typename Job::machine>::most != 0 ||
    (processes_of<typename Job::machine>::by_stage && is_pipelined<typename Job::model>);
/// Devices of a replica that work at the same time. In the sequential schedule one works while the others wait, so that
/// all threads work on each of them, where they can share its work.
template <class Job>
inline constexpr int devices_at_once =
    Job::options.schedule == schedule::sequential && policy_of<typename Job::machine>::devices_have_teams
        ? 1
        : planning_timetable<typename Job::template in<main_mode<Job>>>.devices();
/// The devices of all replicas of a process that work at the same time, and the threads of a machine that work on one
/// of them: at most. One after the other if replicas are split.
template <class Job>
inline constexpr int devices_of_all =
    splits_replicas<Job> ? 1 : Job::replicas / processes_of<typename Job::machine>::most * devices_at_once<Job>;
template <class Job>
inline constexpr int threads_of_device = policy_of<typename Job::machine>::devices_have_teams
                                             ? (Job::machine::threads + devices_of_all<Job> - 1) / devices_of_all<Job>
                                             : 1;

/// A pass as a machine carries it out.
template <class Job, int Pass>
inline constexpr auto const& pass_on = plan_on_machine<Job, Pass>();

/// The plan of one pass as the steps of its calls see it.
template <class Job, int Pass>
struct step_plan {
  using job = Job;
  using model = typename Job::model;
  using machine = typename Job::machine;
  using policy = policy_of<machine>;
  using architecture = typename machine::architecture;
  static constexpr auto const& graph = Job::graph;
  static constexpr auto const& model_plan = model_plan_for<Job>;
  static constexpr auto const& weights = weight_storage_of<model, architecture>;
  static constexpr auto const& gradients = gradient_storage_of<typename Job::described, architecture>;
  static constexpr auto const& pass = pass_on<Job, Pass>;
  static constexpr int pass_number = Pass;
  static constexpr execution_mode mode = Job::mode;
  static constexpr bool trains = Job::trains;
  static constexpr auto const& training = Job::training;
  static constexpr auto const& options = Job::options;
  /// The type of 16 bits in which values and gradients lie in the block; float32 if none does.
  static constexpr dtype stored = stored_types_of<Job>.narrow;
  /// True if one pass has all calls.
  static constexpr bool is_whole = detail::is_whole<model, machine>;
  /// That work on the device together.
  static constexpr int threads = threads_of_device<Job>;
  /// True if gradients are accumulated in halves: then backward steps write them, and they are added afterwards.
  static constexpr bool accumulates_halves =
      options.gradient_accumulation_dtype == dtype::float16 && options.accumulation_steps() > 1;
  /// True if each replica updates its part of the weights.
  static constexpr bool shards_updates = Job::replicas > 1 && (options.replicated_optimizer_state_sharding ||
                                                               options.replicated_weight_sharding);
  /// True if backward steps add the gradients of weights to what is there.
  static constexpr bool adds_parameter_gradients = !accumulates_halves && options.accumulation_steps() > 1;

  /// True if the update of a weight is carried out while its gradient is in registers, so that the gradient is never
  /// stored: nothing else may need it.
  [[nodiscard]] static constexpr bool fuses_update(int call, int index) {
    return is_updated_at_once(call, index, parameter_layout::matrix) &&
           graph.layer_of(call).kernel == layer_kernel::product;
  }
  /// True if the backward step updates a table's rows, those alone that an input names: the optimizer leaves the others
  /// as they are.
  [[nodiscard]] static constexpr bool updates_rows(int call, int index) {
    if constexpr (!updates_at_once)
      return false;
    else
      return index < 32 && (model_plan.calls[call].needs.row_gradients >> index & 1U) != 0 &&
             is_updated_at_once(call, index, parameter_layout::plain) && rests_without_gradient<training.optimizer>;
  }

  /// True if the output of a call is samples that may lie outside of the block: pass_memory::samples.
  [[nodiscard]] static constexpr bool stays_in_place(int call) {
    return is_whole && model_plan.calls[root(call)].stays_in_place;
  }

  /// The call whose memory a view is, or the call itself; that of the image of a border.
  [[nodiscard]] static constexpr std::size_t root(int call) {
    return static_cast<std::size_t>(is_whole ? model_plan.root_without_borders(call, graph)
                                             : model_plan.calls[call].root);
  }
  /// True if the steps of a call's readers do its own.
  [[nodiscard]] static constexpr bool is_border(int call) { return is_whole && model_plan.calls[call].is_border; }
  /// The only input of a model that one thread runs forward, as a whole and on floats, and its only output; -1 if there
  /// are several, or if one of them is the other. A call of the model alone may leave them where the caller has them.
  static constexpr int lone_input = [] {
    if (!is_whole || trains || threads != 1 || is_half(stored)) return -1;
    int found = -1;
    for (int i = 0; i < static_cast<int>(graph.calls.size()); ++i)
      if (graph.call(i).is_input) found = found == -1 ? i : -2;
    return found >= 0 ? found : -1;
  }();
  static constexpr int lone_output = [] {
    if (lone_input < 0 || graph.ends.size() != 1 || root(graph.ends[0]) == root(lone_input)) return -1;
    for (int i = 0; i < static_cast<int>(graph.calls.size()); ++i)
      for (int const source : graph.inputs_of(i))
        if (root(source) == root(graph.ends[0])) return -1;
    return graph.ends[0];
  }();
  [[nodiscard]] static constexpr bool is_sample(int call) { return lone_input >= 0 && root(call) == root(lone_input); }
  [[nodiscard]] static constexpr bool is_result(int call) {
    return lone_output >= 0 && root(call) == root(lone_output);
  }

  [[nodiscard]] static constexpr buffer_place value(int call) { return pass.places.value[root(call)]; }
  [[nodiscard]] static constexpr buffer_place gradient(int call) { return pass.places.gradient[root(call)]; }
  [[nodiscard]] static constexpr buffer_place saved(int call) { return pass.places.saved[call]; }
  /// The place where a backward step writes or adds the gradient of an input, by the edge of the graph.
  [[nodiscard]] static constexpr buffer_place input_gradient(int edge) { return pass.places.input_gradient[edge]; }
  [[nodiscard]] static constexpr bool adds_input_gradient(int edge) { return pass.places.adds_gradient[edge]; }
  /// The call whose forward step is the epilogue of this one's; -1: none.
  [[nodiscard]] static constexpr int epilogue(int call) {
    return policy::joins_epilogues ? pass.places.epilogue[call] : -1;
  }
  [[nodiscard]] static constexpr bool is_epilogue(int call) {
    for (int other = 0; other < call; ++other)
      if (epilogue(other) == call) return true;
    return false;
  }
  [[nodiscard]] static constexpr bool exists(buffer_place const& place) { return place.exists(); }
  [[nodiscard]] static float* address(pass_memory const& memory, buffer_place const& place) {
    return memory.block + place.at(memory.micro_batch);
  }

 private:
  /// Norms take the whole gradient.
  static constexpr bool reads_norms() {
    if constexpr (trains)
      return norms_of<training.optimizer>.count > 0;
    else
      return false;
  }
  static constexpr bool updates_at_once =
      trains && !is_pipelined<model> && policy::template joins_updates<machine> &&
      Job::training.dtype_policy.compute_dtype == dtype::float32 &&
      Job::training.dtype_policy.variable_dtype == dtype::float32 && !has_own_types<Job> && Job::replicas == 1 &&
      options.accumulation_steps() == 1 && !options.offloads_weights() && !options.offloads_optimizer_state() &&
      options.offload_gradient_accumulation_buffers != offload::remote && !reads_norms();
  static constexpr bool is_updated_at_once(int call, int index, parameter_layout layout) {
    auto const& layer = graph.layer_of(call);
    auto const& weight = graph.parameters[layer.first_parameter + index];
    return updates_at_once && layer.call_count == 1 && weight.trainable && weight.regularizer.empty() &&
           weight.layout == layout;
  }
};

}  // namespace stagecraft::engine
