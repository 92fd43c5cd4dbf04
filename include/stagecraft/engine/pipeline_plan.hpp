// SPDX-License-Identifier: BSD-3-Clause
// One pass of a pipeline as the host carries it out. Constants only.
#pragma once

#include <stagecraft/engine/execution_policy.hpp>
#include <stagecraft/host/steps/host_plan.hpp>
#include <stagecraft/plan/pipeline_program.hpp>
#include <cstddef>

namespace stagecraft {

/// Where gradients are accumulated: every call of a layer has a place.
template <class M, auto Training, class Arch>
inline constexpr gradient_storage<M, Arch> pipeline_gradients{program_for<M, Training, execution_mode::training>, true};

/// The plan that the calls of one pass see. A device works alone, and its gradients are always accumulated.
template <class M, auto Training, execution_mode Mode, class Machine, int Pass>
struct pipeline_plan : host_plan_base<M, Training, Mode, typename Machine::architecture> {
  using base = host_plan_base<M, Training, Mode, typename Machine::architecture>;
  using machine = Machine;
  using policy = policy_of<Machine>;
  static constexpr execution_mode mode = Mode;
  static constexpr int pass_number = Pass;
  static constexpr int threads = 1;
  static constexpr bool accumulates_steps = true;
  static constexpr bool adds_parameter_gradients = !base::accumulates_halves;
  static constexpr auto const& gradients = pipeline_gradients<M, Training, typename Machine::architecture>;
  static constexpr auto const& pass = pass_plan_of<M, Training, Mode, Pass>;

  [[nodiscard]] static constexpr bool fuses_update(int, int) { return false; }
  [[nodiscard]] static constexpr bool updates_rows(int, int) { return false; }
  [[nodiscard]] static constexpr buffer_place value(int call) {
    return pass.places.value[static_cast<std::size_t>(base::program.calls[static_cast<std::size_t>(call)].root)];
  }
  [[nodiscard]] static constexpr buffer_place gradient(int call) {
    return pass.places.gradient[static_cast<std::size_t>(base::program.calls[static_cast<std::size_t>(call)].root)];
  }
  [[nodiscard]] static constexpr buffer_place saved(int call) {
    return pass.places.saved[static_cast<std::size_t>(call)];
  }
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
};

}  // namespace stagecraft
