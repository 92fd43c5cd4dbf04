// SPDX-License-Identifier: BSD-3-Clause
// The lowering of a layer's steps to tasks on the tiles of an IPU, and the mapping of each weight to the tiles. Layers
// with kernels have specialisations beside this file; a layer of the user's own with loops of its own runs on one tile.
#pragma once

#include <stagecraft/diagnostics/for_each_index.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/lowering/lowered_call.hpp>
#include <stagecraft/ipu/lowering/lowerings.hpp>
#include <stagecraft/ipu/steps/lowered_step.hpp>
#include <stagecraft/ipu/tasks/custom.hpp>
#include <stagecraft/ipu/tasks/map.hpp>
#include <array>
#include <cstddef>
#include <type_traits>

namespace stagecraft::tiles {

/// The tasks of a layer that is no view: `forward<Call>(step)` and `backward<Call>(step)` append them to a step,
/// where `Call` is a lowered_call. A backward step writes Call::input_gradient for each input whose gradient is wanted,
/// and Call::weight_gradient for each trained weight; `lower` does the rest. `planned_weight<Call>(index)`, if it is
/// there, says which weights lie as a plan wants them. This one serves layers of a user's own that have loops of their
/// own; those that have a `call`: traced.hpp.
template <class L>
struct lowering {
  template <class Call>
  static constexpr void forward(lowered_step& step) {
    append_custom_forward<Call>(step);
  }
  template <class Call>
  static constexpr void backward(lowered_step& step) {
    append_custom_backward<Call>(step);
  }
};

/// The tasks of a layer that has a `call`, by the kernel that it names in `steps_by`: those of the call where
/// tiles have no others.
template <layer_kernel Kernel, class L>
struct kernel_lowering;

/// Appends the casts of inputs of another type.
template <class Call>
constexpr void append_casts(lowered_step& step) {
  for (int i = 0; i < Call::input_count; ++i)
    if (Call::casts_input(i)) static_cast<void>(Call::input(step, i));
}

template <class Call>
constexpr lowered_step lower_forward() {
  lowered_step step;
  if constexpr (Call::input_count > 0 && !Call::planned.needs.view && !Call::is_on_host) {
    append_casts<Call>(step);
    lowering_of<Call>::template forward<Call>(step);
  }
  return step;
}

/// Lowers the backward step of a call. A view has no tasks. The layer's own tasks are followed by the gradients of
/// activations that this call applies for its inputs (unless the layer does it with its own output), by additions to
/// other gradients, and by the accumulation of the weights' gradients.
template <class Call>
constexpr lowered_step lower_backward() {
  lowered_step step;
  if constexpr (Call::planned.needs.view) return step;
  if (Call::planned.needs.input) append_casts<Call>(step);
  lowering_of<Call>::template backward<Call>(step);
  for (int i = 0; i < Call::input_count; ++i) {
    if (!Call::wants_input_gradient(i)) continue;
    int const gradient = Call::input_gradient(step, i);
    if (auto const function = Call::applied_activation(i);
        function != linear && !Call::planned.needs.applies_activation_to_output)
      append_activation_gradient_map(step, function, gradient, Call::input(step, i), gradient);
    if (Call::adds_input_gradient(i)) {
      int const sum = Call::stored_input_gradient(step, i);
      append_map(step, map_function::add, sum, {{sum}, {gradient}});
    } else if (Call::input_type(i) != Call::type) {
      append_map(step, map_function::copy, Call::stored_input_gradient(step, i), {{gradient}});
    }
  }
  for (int i = 0; i < Call::parameter_count; ++i) {
    if (!Call::parameter_info(i).trainable) continue;
    int const sum = Call::accumulator(step, i);
    append_accumulate(step, sum, Call::weight_gradient(step, i), Call::has_running_mean);
  }
  return step;
}

template <class Job>
constexpr auto find_planned_weights() {
  using unstaged = typename Job::template of<typename traced_model<typename Job::model>::type>;
  constexpr auto const& graph = Job::graph;
  std::array<weight_mapping const*, graph.parameters.size() + 1> result{};
  for_each_index<graph.layers.size()>([&]<int Layer>() {
    constexpr auto const& layer = graph.layers[Layer];
    if constexpr (layer.call_count > 0 && layer.parameter_count > 0) {
      using call = lowered_call_variant<typename unstaged::template on<machine_of_weights<Job, layer.first_call>>,
                                        step_variant{}, layer.first_call>;
      for (int i = 0; i < layer.parameter_count; ++i) result[layer.first_parameter + i] = call::planned_weight(i);
    }
  });
  return result;
}
template <class Job>
inline constexpr auto planned_weights_of_machine = find_planned_weights<Job>();

/// The model whose plans map the weights. Stages matter only if some have options of Poplar of their own.
template <class Job>
using model_of_planned_weights =
    std::conditional_t<Job::options.forward_propagation_stages_poplar_options.given(), typename Job::model,
                       typename traced_model<typename Job::model>::type>;

/// The mappings of the graph's weights; null: mapped linearly. One constant serves all numbers of IPUs.
template <class Job>
inline constexpr auto const& planned_weights = planned_weights_of_machine<typename Job::template of<
    model_of_planned_weights<Job>>::template on<typename machine_with_one_ipu<typename Job::machine>::type>>;

}  // namespace stagecraft::tiles
