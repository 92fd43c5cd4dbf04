// SPDX-License-Identifier: BSD-3-Clause
// Everything that the steps of a pass know at compile time. Constants only.
#pragma once

#include <stagecraft/description/effective_options.hpp>
#include <stagecraft/description/replicas.hpp>
#include <stagecraft/engine/policy/execution_policy.hpp>
#include <stagecraft/host/steps/weight_storage.hpp>
#include <stagecraft/layers/dense.hpp>
#include <stagecraft/optimizers/rests_without_gradient.hpp>
#include <stagecraft/plan/pipeline_program.hpp>
#include <stagecraft/plan/whole_pass.hpp>
#include <cstddef>

namespace stagecraft {

namespace detail {

/// Whether a model has a device for itself: then what its passes hold has places that follow from the program alone.
template <class M, class Machine>
inline constexpr bool is_whole = !is_pipelined<M> && policy_of<Machine>::joins_passes;

template <class M, auto Training, execution_mode Mode, class Machine, int Pass>
constexpr auto const& plan_on_machine() {
  if constexpr (is_whole<M, Machine>)
    return whole_pass_of < M, Training, Mode, Pass != 0 > ;
  else
    return pass_plan_of<M, Training, Mode, Pass>;
}

/// The devices of all replicas, and the threads of a machine that work on one of them: at most.
template <class M, auto Training, class Machine>
inline constexpr int devices_of_all =
    replicas_of<M, Training, Machine> * planning_timetable<M, Training, main_mode<M, Training>>.devices();
template <class M, auto Training, class Machine>
inline constexpr int threads_of_device =
    policy_of<Machine>::devices_have_teams
        ? (Machine::threads + devices_of_all<M, Training, Machine> - 1) / devices_of_all<M, Training, Machine>
        : 1;

}  // namespace detail

/// A pass as a machine carries it out.
template <class M, auto Training, execution_mode Mode, class Machine, int Pass>
inline constexpr auto const& pass_on = detail::plan_on_machine<M, Training, Mode, Machine, Pass>();

/// What the calls of one pass see.
template <class M, auto Training, execution_mode Mode, class Machine, int Pass>
struct step_plan {
  using model = M;
  using machine = Machine;
  using policy = policy_of<Machine>;
  using architecture = typename Machine::architecture;
  static constexpr auto const& graph = graph_of<M>;
  static constexpr auto const& program = program_for<M, Training, Mode>;
  static constexpr auto const& weights = weight_storage_of<M, architecture>;
  static constexpr auto const& gradients = gradient_storage_of<M, Training, architecture>;
  static constexpr auto const& pass = pass_on<M, Training, Mode, Machine, Pass>;
  static constexpr int pass_number = Pass;
  static constexpr execution_mode mode = Mode;
  static constexpr bool trains = Mode == execution_mode::training;
  /// Copies, for what is read at run time: Clang 19 finds members of class type of a template argument at wrong places.
  static constexpr auto training = Training;
  static constexpr pipelining_options options = options_of<M, Training>;
  /// The type in which values and gradients lie in the block.
  static constexpr dtype stored = Training.dtype_policy.storage_dtype;
  /// That work on the device together.
  static constexpr int threads = detail::threads_of_device<M, Training, Machine>;
  /// Whether gradients are accumulated in halves: then backward steps write them, and they are added afterwards.
  static constexpr bool accumulates_halves =
      options.gradient_accumulation_dtype == dtype::float16 && options.accumulation_steps() > 1;
  /// Whether backward steps add the gradients of weights to what is there.
  static constexpr bool adds_parameter_gradients =
      !accumulates_halves && (options.accumulation_steps() > 1 || !detail::is_whole<M, Machine>);

  /// Whether the update of a weight is carried out while its gradient is in registers, so that the gradient is never
  /// stored: nothing else may need it.
  [[nodiscard]] static constexpr bool fuses_update(int call, int index) {
    return is_updated_at_once(call, index, parameter_layout::matrix) &&
           same_type(graph.layer_of(call).type, tag_of<layers::dense>);
  }
  /// Whether the backward step updates a table's rows, those alone that an input names: the optimizer leaves the others
  /// as they are.
  [[nodiscard]] static constexpr bool updates_rows(int call, int index) {
    if constexpr (!updates_at_once)
      return false;
    else
      return index < 32 && (program.calls[static_cast<std::size_t>(call)].needs.row_gradients >> index & 1U) != 0 &&
             is_updated_at_once(call, index, parameter_layout::plain) &&
             detail::rests_without_gradient<Training.optimizer>;
  }

  [[nodiscard]] static constexpr buffer_place value(int call) { return pass.places.value[root(call)]; }
  [[nodiscard]] static constexpr buffer_place gradient(int call) { return pass.places.gradient[root(call)]; }
  [[nodiscard]] static constexpr buffer_place saved(int call) {
    return pass.places.saved[static_cast<std::size_t>(call)];
  }
  /// Where a backward step writes or adds the gradient of an input, by edges of the graph.
  [[nodiscard]] static constexpr buffer_place input_gradient(int edge) {
    return pass.places.input_gradient[static_cast<std::size_t>(edge)];
  }
  [[nodiscard]] static constexpr bool adds_input_gradient(int edge) {
    return pass.places.adds_gradient[static_cast<std::size_t>(edge)];
  }
  /// The call whose forward step is the epilogue of this one's; -1: none.
  [[nodiscard]] static constexpr int epilogue(int call) {
    return policy::joins_epilogues ? pass.places.epilogue[static_cast<std::size_t>(call)] : -1;
  }
  [[nodiscard]] static constexpr bool is_epilogue(int call) {
    for (int other = 0; other < call; ++other)
      if (epilogue(other) == call) return true;
    return false;
  }
  [[nodiscard]] static constexpr bool exists(buffer_place const& place) { return place.exists(); }
  [[nodiscard]] static float* address(host_memory const& memory, buffer_place const& place) {
    return memory.block + place.at(memory.micro_batch);
  }

 private:
  /// Norms take the whole gradient.
  static constexpr bool reads_norms() {
    if constexpr (trains)
      return detail::norms_of<Training.optimizer>.count > 0;
    else
      return false;
  }
  static constexpr bool updates_at_once =
      trains && detail::is_whole<M, Machine> && Training.dtype_policy == dtype_policies::float32 &&
      replicas_of<M, Training, Machine> == 1 && options.accumulation_steps() == 1 && !options.offloads_weights() &&
      !options.offloads_optimizer_state() && options.offload_gradient_accumulation_buffers != offload::remote &&
      !reads_norms();
  static constexpr bool is_updated_at_once(int call, int index, parameter_layout layout) {
    auto const& layer = graph.layer_of(call);
    auto const& weight = graph.parameters[static_cast<std::size_t>(layer.first_parameter + index)];
    return updates_at_once && layer.call_count == 1 && weight.trainable && weight.regularizer.empty() &&
           weight.layout == layout;
  }
  static constexpr std::size_t root(int call) {
    return static_cast<std::size_t>(program.calls[static_cast<std::size_t>(call)].root);
  }
};

}  // namespace stagecraft
