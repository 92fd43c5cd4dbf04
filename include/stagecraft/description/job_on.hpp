// SPDX-License-Identifier: BSD-3-Clause
// What is carried out on a machine where a user names a model, a description and a machine.
#pragma once

#include <stagecraft/description/job.hpp>
#include <stagecraft/description/training_on.hpp>
#include <stagecraft/diagnostics/rooms.hpp>

namespace stagecraft::jobs {

/// The job of a trainer, of a predictor or of a profile: the description is the one that holds on the machine.
template <class M, auto Training, class Machine, execution_mode Mode = mode_of<Training>>
using job_on = job<M, training_on<Training, Machine>, Mode, Machine>;

}  // namespace stagecraft::jobs
