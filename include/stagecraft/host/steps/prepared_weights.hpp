// SPDX-License-Identifier: BSD-3-Clause
// What steps make of weights once, as long as these do not change: products of single samples have them packed.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/engine/policy/pass_memory.hpp>
#include <stagecraft/host/steps/host_call.hpp>
#include <stagecraft/host/steps/operation_of.hpp>
#include <cstddef>
#include <utility>

namespace stagecraft::cpu {

/// Floats that the forward step of a call reads in place of weights; whole cache lines.
template <class Plan, int Call>
inline constexpr long long prepared_floats = [] {
  if constexpr (Plan::trains || Plan::graph.call(Call).is_input) {
    return 0LL;
  } else {
    using call = host_call<Plan, Call>;
    if constexpr (requires { cpu::operation_of<call>::template prepared_floats<call>(); })
      return (cpu::operation_of<call>::template prepared_floats<call>() + 15) / 16 * 16;
    else
      return 0LL;
  }
}();

/// Where they begin among those of all calls.
template <class Plan, int Call>
inline constexpr long long prepared_place = [] {
  return []<std::size_t... Before>(std::index_sequence<Before...>) {
    long long floats = 0;
    for (long long const each : {0LL, prepared_floats<Plan, static_cast<int>(Before)>...}) floats += each;
    return floats;
  }(std::make_index_sequence<static_cast<std::size_t>(Call)>{});
}();

/// The memory of all calls of a plan, where a session runs all of them by that plan.
template <class Plan>
class prepared_weights {
  static constexpr int calls = static_cast<int>(Plan::graph.calls.size());

 public:
  static constexpr long long floats = [] {
    if constexpr (Plan::is_whole && only_infers<Plan::training>)
      return prepared_place<Plan, calls>;
    else
      return 0LL;
  }();

  [[nodiscard]] float const* data() const noexcept { return memory_.data(); }

  /// Makes them of those that are given, in the layout of the session.
  void prepare([[maybe_unused]] float* given) {
    if constexpr (floats > 0) {
      pass_memory memory;
      memory.weights = given;
      [&]<std::size_t... Call>(std::index_sequence<Call...>) {
        (prepare_call<static_cast<int>(Call)>(memory), ...);
      }(std::make_index_sequence<static_cast<std::size_t>(calls)>{});
    }
  }

 private:
  template <int Call>
  void prepare_call(pass_memory const& memory) {
    if constexpr (prepared_floats<Plan, Call> > 0) {
      using call = host_call<Plan, Call>;
      cpu::operation_of<call>::prepare(call{memory}, memory_.data() + prepared_place<Plan, Call>);
    }
  }

  aligned_block memory_{floats};
};

}  // namespace stagecraft::cpu
