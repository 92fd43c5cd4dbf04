// SPDX-License-Identifier: BSD-3-Clause
// The host carries out a plan by its kernels, and nothing else.
#pragma once

#include <stagecraft/diagnostics/diagnostic.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/engine/policy/execution_policy.hpp>
#include <stagecraft/host/host.hpp>
#include <stagecraft/host/rounded_weights.hpp>
#include <stagecraft/host/steps/host_memory.hpp>
#include <cstddef>
#include <cstring>

namespace stagecraft::cpu {

inline constexpr diagnostic no_memory_problem{};

/// See ExecutionPolicy. Values in 16 bits are widened and narrowed by the engine (narrow_storage.hpp). Policies that
/// derive from it say only what is different.
struct host_policy {
  static constexpr bool devices_have_teams = true;
  static constexpr bool joins_passes = true;
  static constexpr bool joins_epilogues = true;
  template <class Machine>
  static constexpr bool joins_updates = true;
  template <class Plan>
  static constexpr bool clears_accumulators = true;
  template <class Plan>
  static constexpr bool accumulates_halves = Plan::accumulates_halves;

  template <class Sizes>
  struct replica_memory {};
  template <class Job>
  static constexpr diagnostic const& memory_problem() {
    return no_memory_problem;
  }
  template <class Sizes>
  static void begin_pass(replica_memory<Sizes>&, bool, int, int, host_memory&) {}
  template <class Sizes>
  static void begin_update(replica_memory<Sizes>&, int, host_memory&, bool) {}

  template <class Plan, int Call, bool Backward, class OnHost>
  static void step(host_memory const& memory, OnHost const& on_host) {
    on_host(memory);
  }

  template <class Plan, std::size_t Output, class OnHost>
  static float loss(host_memory const&, float const*, void const*, float const*, loss_gradient const&,
                    OnHost const& on_host) {
    return on_host();
  }
  template <class Plan, std::size_t Output, class OnHost>
  static void output(host_memory const&, float*, OnHost const& on_host) {
    on_host();
  }

  template <class Plan, std::size_t Parameter, class OnHost>
  static void sum_of_calls(host_memory const&, OnHost const& on_host) {
    on_host();
  }
  template <class Plan, std::size_t Parameter, class Gradients, class Range, class OnHost>
  static void sum_of_replicas(host_memory const&, Gradients const&, int, Range const&, OnHost const& on_host) {
    on_host();
  }
  template <class Plan, std::size_t Parameter, class OnHost>
  static void penalty_gradient(host_memory const&, bool, OnHost const& on_host) {
    on_host();
  }
  template <class Plan, std::size_t Parameter, int Round, class OnHost>
  static void squares(host_memory const&, optimizer_state const&, bool, double*, OnHost const& on_host) {
    on_host();
  }
  template <class Plan, std::size_t Parameter, class Range, class OnHost>
  static void update(host_memory const& memory, optimizer_state const& state, Range const& elements,
                     OnHost const& on_host) {
    on_host();
    if constexpr (rounds_variables<Plan>) rounded_weights<Plan>::template updated<Parameter>(memory, state, elements);
  }
  template <class Plan, std::size_t Parameter, class OnHost>
  static void constraint(host_memory const& memory, bool, OnHost const& on_host) {
    on_host();
    if constexpr (rounds_variables<Plan>)
      rounded_weights<Plan>::template updated<Parameter>(memory, {}, {0, Plan::weights.size[Parameter]});
  }

  template <class Plan>
  static void inputs(host_memory const&) {}
  static void transfer(float const* from, float* to, std::size_t floats) {
    std::memcpy(to, from, floats * sizeof(float));
  }
  template <class Plan, class OnHost>
  static void addition(host_memory const&, pass_addition const&, int, OnHost const& on_host) {
    on_host();
  }
  template <class Plan, std::size_t Parameter>
  static void copied_weight(host_memory const&, float*) {}
  template <class Plan>
  static void given_weights(float* weights) {
    if constexpr (rounds_variables<Plan>) rounded_weights<Plan>::given(weights);
  }

 private:
  template <class Plan>
  static constexpr bool rounds_variables = rounded_weights<Plan>::are_there;
};

}  // namespace stagecraft::cpu

namespace stagecraft::engine {

template <int Threads, class Arch, int Devices>
struct policy_of_machine<host_machine<Threads, Arch, Devices>> {
  using type = host_policy;
};

}  // namespace stagecraft::engine
