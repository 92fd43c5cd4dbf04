// SPDX-License-Identifier: BSD-3-Clause
// What emulated IPUs have done: cycles as they were counted, pass by pass.
#pragma once

#include <stagecraft/ipu/steps/operation_cost.hpp>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace stagecraft {

/// Of one replica's pass or of a device's weight updates: all its runs together.
struct counted_pass {
  operation_cost cost;
  std::int64_t runs = 0;

  friend constexpr bool operator==(counted_pass const&, counted_pass const&) = default;
};

/// Of one replica since it was made.
struct counted_work {
  std::vector<counted_pass> training;   ///< by passes of the training timetable
  std::vector<counted_pass> inference;  ///< by stages
  std::vector<counted_pass> updates;    ///< by devices
};

}  // namespace stagecraft
