// SPDX-License-Identifier: BSD-3-Clause
// Where a session of devices asks an emulated IPU to carry out its work. Declared here, defined beside
// execution/tiles/, so that programs for the host alone do not need to know how. Level 5.
#pragma once

#include <stagecraft/diagnostics/diagnostic.hpp>
#include <stagecraft/execution/host_memory.hpp>
#include <stagecraft/ipu/ipu_devices.hpp>
#include <cstddef>

namespace stagecraft {

/// What one replica needs besides its memory: nothing, unless its devices are IPUs (tiles/emulated_devices.hpp).
template <class Sizes, bool Emulates = is_ipu<typename Sizes::machine>>
struct emulation {};

/// Whether the program knows how a machine carries out a step: of IPUs only with <stagecraft/ipu.hpp>.
template <class Machine, bool Emulates = is_ipu<Machine>>
inline constexpr bool is_carried_out = !Emulates;

/// Why a machine cannot run a model: nothing is known of others than IPUs, whose memory may be too small (ipu.hpp).
template <class M, auto Training, class Machine, bool Emulates = is_ipu<Machine>>
inline constexpr diagnostic memory_problem_on{};

/// Whether the steps of a plan run tile by tile, and not by kernels for the host.
template <class Plan>
inline constexpr bool runs_on_tiles = [] {
  if constexpr (is_ipu<typename Plan::machine>)
    return Plan::machine::checked;
  else
    return false;
}();

/// A layer's step on an IPU: `run(memory, host_step)` (tiles/ipu_step.hpp).
template <class Plan, int Call, bool Backward>
struct ipu_step;

/// The loss of an output on an IPU (tiles/ipu_loss.hpp).
template <class Plan, std::size_t Output>
class ipu_loss;

/// What becomes of the logits that a loss has taken, on an IPU (tiles/ipu_loss.hpp).
template <class Plan, std::size_t Output>
class ipu_output;

/// The constraint of a weight on an IPU, or what its penalty adds to its gradient (tiles/ipu_weight_step.hpp).
template <class Plan, std::size_t Parameter, bool IsConstraint>
class ipu_weight_step;

/// The update of a weight on an IPU (tiles/ipu_update.hpp).
template <class Plan, std::size_t Parameter>
class ipu_update;

/// How an IPU stores the results of a pass's steps, and what it stops for: wraps each of them (ipu_arithmetic.hpp).
template <class Plan>
class ipu_arithmetic;

/// A gradient that is added to another between two steps (tiles/ipu_step.hpp).
template <class Plan>
void count_addition(host_memory const& memory, long long floats);

}  // namespace stagecraft
