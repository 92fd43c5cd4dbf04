// SPDX-License-Identifier: BSD-3-Clause
// How a layer's steps become operations on the tiles of an IPU. The layers of this library have a specialisation each,
// beside this file; a layer of the user's own runs on one tile.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/lowering/lowered_call.hpp>
#include <stagecraft/ipu/steps/lowered_step.hpp>
#include <stagecraft/ipu/tasks/custom.hpp>
#include <stagecraft/ipu/tasks/map.hpp>

namespace stagecraft::tiles {

/// The operations of a layer that is no view: `forward<Call>(step)` and `backward<Call>(step)` append them to a step,
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

/// The operations of a layer that has a `call`, by the kernel that it names in `steps_by`: those of the call where
/// tiles have no others.
template <layer_kernel Kernel, class L>
struct kernel_lowering;

/// Inputs of another type come first.
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
    lowering<layer_t<typename Call::model, Call::call>>::template forward<Call>(step);
  }
  return step;
}

/// A view has no operations. Behind the layer's own ones: gradients of activations that this call applies for its
/// inputs (unless the layer does it with its own output), gradients that are added to others, and the accumulation of
/// the weights' gradients.
template <class Call>
constexpr lowered_step lower_backward() {
  lowered_step step;
  if constexpr (Call::planned.needs.view) return step;
  if (Call::planned.needs.input) append_casts<Call>(step);
  lowering<layer_t<typename Call::model, Call::call>>::template backward<Call>(step);
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

}  // namespace stagecraft::tiles
