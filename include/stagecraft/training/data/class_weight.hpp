// SPDX-License-Identifier: BSD-3-Clause
// How much a class counts in the loss.
// Keras counterpart: the `class_weight` dictionary of fit.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>

namespace stagecraft::trainers {

/// One entry of `.class_weight = {{0, 1.0f}, {1, 5.0f}}`.
struct class_weight_entry {
  int label = 0;     ///< the class
  float weight = 1;  ///< the factor of its samples' losses
};

}  // namespace stagecraft::trainers
