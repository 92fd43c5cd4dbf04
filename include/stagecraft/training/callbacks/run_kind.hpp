// SPDX-License-Identifier: BSD-3-Clause
// What steps are carried out for. Keras counterpart: ModeKeys.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>

namespace stagecraft::trainers {

/// Steps of `fit`, of `evaluate` (and of validation), or of `predict`.
enum class run_kind : unsigned char { training, evaluation, prediction };

}  // namespace stagecraft::trainers
