// SPDX-License-Identifier: BSD-3-Clause
// Weights on the host under a policy of half precision: rounded copies for the steps, or variables that are rounded
// themselves, in memory for floats. Keras counterpart: AutoCastVariable, and variables of the policies float16 and
// bfloat16.
#pragma once

#include <stagecraft/description/update_of_weight.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/engine/policy/pass_memory.hpp>
#include <stagecraft/host/steps/bfloat16_weight.hpp>
#include <stagecraft/kernels/elementwise/narrow.hpp>
#include <algorithm>
#include <cstddef>
#include <utility>

namespace stagecraft::cpu {

/// `Plan` is that of a pass.
template <class Plan>
class rounded_weights {
  using architecture = typename Plan::architecture;
  static constexpr auto const& parameters = Plan::graph.parameters;
  static constexpr auto const& types = variable_types_of<typename Plan::job>;

 public:
  /// Whether some variables are of 16 bits.
  static constexpr bool are_there = [] {
    for (std::size_t i = 0; i < Plan::weights.count; ++i)
      if (is_half(types[i])) return true;
    return false;
  }();
  /// Makes a pass's copy of a weight.
  template <std::size_t Parameter>
  static void copy(float const* from, float* to) {
    constexpr auto floats = Plan::weights.size[Parameter];
    if constexpr (!parameters[Parameter].is_cast() ||
                  own_type_of_weight(Plan::graph, static_cast<int>(Parameter)) != dtype::of_policy)
      std::copy_n(from, floats, to);
    else if constexpr (constexpr int layer = bfloat16_layer_of_weight<Plan, Parameter>; layer >= 0)
      bfloat16_kernel<Plan, layer>::pack(from, to);
    else
      kernels::round_to<Plan::stored, architecture>(from, to, floats);
  }
  /// All weights, which a program or a file has brought.
  static void given(float* weights) {
    for (std::size_t i = 0; i < Plan::weights.count; ++i)
      if (parameters[i].is_cast()) round(types[i], weights + Plan::weights.offset[i], Plan::weights.size[i]);
  }
  /// Elements of a weight, and the optimizer's numbers of them, after an update.
  template <std::size_t Parameter>
  static void updated(pass_memory const& memory, optimizer_state const& state, kernels::share::range elements) {
    auto const count = elements.last - elements.first;
    round(types[Parameter], memory.weights + Plan::weights.offset[Parameter] + elements.first, count);
    for (int i = 0; state.slots != nullptr && i < slots_of<Plan::training.optimizer>; ++i)
      round(types[Parameter], state.slots + i * state.stride, count);
  }

 private:
  static void round(dtype type, float* x, long long count) {
    if (type == dtype::float16) kernels::round_to<dtype::float16, architecture>(x, x, count);
    if (type == dtype::bfloat16) kernels::round_to<dtype::bfloat16, architecture>(x, x, count);
  }
};

}  // namespace stagecraft::cpu
