// SPDX-License-Identifier: BSD-3-Clause
// How emulated IPUs carry out a program. Level 5.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/execution/ipu_machine.hpp>
#include <stagecraft/execution/tiles/emulated_devices.hpp>
#include <stagecraft/execution/tiles/ipu_loss.hpp>
#include <stagecraft/execution/tiles/ipu_step.hpp>
#include <stagecraft/execution/tiles/ipu_update.hpp>
#include <stagecraft/execution/tiles/ipu_weight_step.hpp>
#include <stagecraft/program/memory_check.hpp>

namespace stagecraft {

template <class Machine>
inline constexpr bool is_carried_out<Machine, true> = true;

/// E3010 or E3012 where a training, or what can be evaluated only, needs more memory than there is.
template <class M, auto Training, class Machine>
inline constexpr diagnostic memory_problem_on<M, Training, Machine, true> =
    detail::memory_problem<M, Training, detail::main_mode<M, Training>, Machine>;

}  // namespace stagecraft
