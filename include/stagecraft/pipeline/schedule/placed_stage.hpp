// SPDX-License-Identifier: BSD-3-Clause
// Where a stage of a pipeline is: its device, and whether another stage works at the same time.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>

namespace stagecraft::pipeline {

/// A stage as a timetable sees it.
struct placed_stage {
  int device = 0;
  /// Whether it works in the slots of the stage before it, which is on another device: Graphcore's list of functions in
  /// place of a stage.
  bool is_beside = false;
};

}  // namespace stagecraft::pipeline
