// SPDX-License-Identifier: BSD-3-Clause
// The forward steps of calls that another call's step does before its results leave the registers, as the plan says
// (planned_call::epilogue).
#pragma once

#include <stagecraft/description/inference.hpp>
#include <stagecraft/host/steps/host_call.hpp>
#include <stagecraft/kernels/elementwise/activation.hpp>
#include <stagecraft/kernels/elementwise/epilogue.hpp>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace stagecraft::cpu {

template <class Call>
inline constexpr bool has_epilogue = Call::plan::epilogue(Call::call) >= 0;

/// The call whose step is the epilogue of this one's.
template <class Call>
using epilogue_call = host_call<typename Call::plan, Call::plan::epilogue(Call::call)>;

/// The number of the input of a call that another call makes.
template <class Call, int Source>
inline constexpr int input_from = [] {
  int index = 0;
  while (Call::input_call(index) != Source) ++index;
  return index;
}();

/// The epilogue that applies an activation in the forward step of a call.
template <class Call, activation Act, class Arch>
using epilogue_of_activation =
    std::conditional_t<asks_for_fast_activations<Call::plan::training>, kernels::fast_activation_epilogue<Act, Arch>,
                       kernels::activation_epilogue<Act, Arch>>;

/// Floats of workspace, on each thread, that the epilogues of a call's step need.
template <class Call>
constexpr long long epilogue_floats() {
  if constexpr (!has_epilogue<Call>) {
    return 0;
  } else {
    using next = epilogue_call<Call>;
    long long floats = epilogue_floats<next>();
    if constexpr (requires { layer_steps_of<next>::template epilogue_floats<next>(); })
      floats += layer_steps_of<next>::template epilogue_floats<next>();
    return floats;
  }
}

/// The epilogues of a call's step, as one; `operation` of their layers says what they are.
template <class Call>
[[nodiscard]] auto epilogues_from(Call const& call, [[maybe_unused]] float* workspace) {
  if constexpr (!has_epilogue<Call>) {
    return kernels::no_epilogue{};
  } else {
    using next = epilogue_call<Call>;
    next const behind{call.memory};
    auto const own = layer_steps_of<next>::template epilogue<input_from<next, Call::call>>(behind, workspace);
    return kernels::join_epilogues(
        own, epilogues_from(behind, workspace + epilogue_floats<Call>() - epilogue_floats<next>()));
  }
}
template <class Call>
[[nodiscard]] auto epilogues_of([[maybe_unused]] Call const& call) {
  if constexpr (!has_epilogue<Call>)
    return kernels::no_epilogue{};
  else
    return epilogues_from(call, call.memory.workspace + layer_steps_of<Call>::template workspace<Call>());
}

}  // namespace stagecraft::cpu
