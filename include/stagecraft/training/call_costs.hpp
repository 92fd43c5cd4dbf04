// SPDX-License-Identifier: BSD-3-Clause
// What a call of a predictor costs at most, as constants: operations, memory and stack. For programs with a deadline,
// which compare them with what they have in a static_assert.
#pragma once

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/diagnostics/compile_error.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/training/predictor.hpp>
#include <cstddef>
#include <utility>

namespace stagecraft::trainers {

/// The costs of `predictor.call(x, y)` of a session. Errors: E4151 for a model that has no such call.
template <class Session>
struct call_costs {
  static_assert(report<lone_call_problem<Session>>());
  using plan = typename Session::first_plan;

  static constexpr long long flops() {
    long long sum = 0;
    for (auto const& each : Session::graph.calls) sum += each.flops;
    return sum * Session::batch;
  }

  /// Bytes of a block of floats, and of the one that each session has once.
  static constexpr long long bytes_of(long long floats) { return (floats + engine::aligned_block::slack_floats()) * 4; }
  static constexpr long long memory() {
    using sizes = typename Session::sizes;
    using memory_type = typename Session::memory_type;
    using steps = typename Session::step_weights;
    long long const one_replica =
        static_cast<long long>(sizeof(memory_type)) + bytes_of(sizes::weights.floats) +
        bytes_of(sizes::template block_floats<0>()) + bytes_of(sizes::template remote_floats<0>) +
        bytes_of(Session::workspace_floats) + bytes_of(Session::widened_floats) +
        bytes_of(sizes::most_targets * sizes::all_targets) + bytes_of(sizes::most_targets * sizes::all_scales) +
        7 * bytes_of(0);  // what only training and remote memory need
    return sizes::replicas * one_replica + bytes_of(steps::replaces_weights ? sizes::weights.floats : 0) +
           bytes_of(cpu::prepared_weights<plan>::floats);
  }

  template <int Call>
  static constexpr long long locals_of() {
    if constexpr (Session::graph.call(Call).is_input) {
      return 0;
    } else {
      using call = cpu::host_call<plan, Call>;
      if constexpr (requires { cpu::layer_steps_of<call>::template local_bytes<call>(); })
        return cpu::layer_steps_of<call>::template local_bytes<call>();
      else
        return 0;
    }
  }
  /// Optimized programs keep the locals of one step after the other on the stack, and copies of registers beside them.
  static constexpr long long stack() {
    constexpr long long of_frames = 8192;
    return of_frames + []<std::size_t... Call>(std::index_sequence<Call...>) {
      long long sum = 0;
      for (long long const each : {0LL, 2 * locals_of<static_cast<int>(Call)>()...}) sum += each;
      return sum;
    }(std::make_index_sequence<Session::graph.calls.size()>{});
  }
};

}  // namespace stagecraft::trainers

namespace stagecraft {

/// The floating-point operations of a call of a predictor: of all samples of its batch, and the same for all inputs,
/// since no operation is left out for some. A product of a multiply-add counts as two, a function of a number as one.
/// Not counted: operations on the unused lanes of registers. Errors: E4151.
template <class Predictor>
inline constexpr long long worst_case_flops = trainers::call_costs<typename Predictor::session_type>::flops();

/// The bytes that a predictor keeps from its construction on: weights, tensors between steps, and what steps need.
/// Calls allocate nothing. Not counted: the predictor itself (sizeof), what initial values take while it is
/// constructed, and what `predict` and files need. Errors: E4151.
template <class Predictor>
inline constexpr long long predictor_memory_bytes = trainers::call_costs<typename Predictor::session_type>::memory();

/// The bytes of stack that a call of a predictor takes at most in an optimized program (-O2, -O3). Without optimization
/// each small function has a frame of its own, and calls take several times as much. Errors: E4151.
template <class Predictor>
inline constexpr long long call_stack_bytes = trainers::call_costs<typename Predictor::session_type>::stack();

}  // namespace stagecraft

#include <stagecraft/diagnostics/end_headers.hpp>
