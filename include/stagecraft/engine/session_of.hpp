// SPDX-License-Identifier: BSD-3-Clause
// Which session runs a model on a machine.
#pragma once

#include <stagecraft/description/job_on.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/engine/host_pipeline.hpp>

namespace stagecraft::engine {

/// The session of a model, whose description is that which holds on the machine.
template <Model M, auto Training, class Machine>
using session_of = host_pipeline<job_on<M, Training, Machine>>;

}  // namespace stagecraft::engine
