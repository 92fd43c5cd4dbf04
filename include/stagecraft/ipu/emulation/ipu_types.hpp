// SPDX-License-Identifier: BSD-3-Clause
// Which tensors of a plan an emulated IPU has in half precision, and the inputs that it casts.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/host/steps/host_call.hpp>
#include <stagecraft/ipu/emulation/half_storage.hpp>
#include <stagecraft/plan/value_types.hpp>
#include <algorithm>
#include <cstddef>
#include <string_view>

namespace stagecraft::tiles {

/// `Plan` is that of a pass.
template <class Plan>
struct ipu_types {
  using job = typename Plan::job;

  template <int Call>
  static constexpr bool computes_halves = computed_type_of<job, Call> == dtype::float16;
  /// The value of a call, and its gradient.
  [[nodiscard]] static constexpr bool is_half(int call) { return value_types_of<job>[call] == dtype::float16; }
  [[nodiscard]] static constexpr bool is_half_weight(std::size_t weight) {
    return variable_types_of<job>[weight] == dtype::float16;
  }
  [[nodiscard]] static constexpr std::string_view layer_of_weight(int number) {
    return Plan::graph.layer(Plan::graph.layer_of_parameter(number)).name;
  }
  /// Whether a pass's copy of a weight is of the policy's type.
  template <std::size_t Parameter>
  static constexpr bool rounds_copies =
      Plan::training.dtype_policy.compute_dtype == dtype::float16 && Plan::graph.parameters[Parameter].is_cast() &&
      own_type_of_weight(Plan::graph, static_cast<int>(Parameter)) == dtype::of_policy;

  /// Whether what a call's backward step gives an input is rounded. A sum with other gradients is of their type.
  template <int Call>
  [[nodiscard]] static constexpr bool rounds_input_gradient(int index) {
    using call = host_call<Plan, Call>;
    return (computes_halves<Call> && !call::adds_input_gradient(index)) || is_half(call::input_call(index));
  }

  /// Rounds the inputs of a call that are of another type, for its steps; gives whether one was too large.
  template <int Call, class Halves>
  static bool cast_inputs([[maybe_unused]] pass_memory const& memory) {
    bool too_large = false;
    if constexpr (has_own_types<job>) {
      using call = host_call<Plan, Call>;
      for (int i = 0; i < call::input_count; ++i) {
        int const input = call::input_call(i);
        if (!casts_input<Plan, Call>(input)) continue;
        auto const floats = 1LL * Plan::program.batch * Plan::graph.call(input).shape.size();
        float* const to = memory.widened + widened_step<Plan, Call>::input(i);
        std::copy_n(Plan::address(memory, Plan::value(input)), floats, to);
        too_large |= Halves::round(to, floats, Halves::key(memory, rounded_value::cast_input, Call, i));
      }
    }
    return too_large;
  }
};

}  // namespace stagecraft::tiles
