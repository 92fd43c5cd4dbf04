// SPDX-License-Identifier: BSD-3-Clause
// The options of a timetable's pictures.
#pragma once

#include <string>

namespace stagecraft {

/// Options of `timetable_text`, `timetable_svg` and `plot_timetable`.
struct timetable_picture_options {
  /// Above the picture; empty: the schedule.
  std::string title = {};
  /// So many slots are shown at most: of a longer timetable, as many of the first as of the last ones. 0: all.
  int max_slots = 64;
};

}  // namespace stagecraft
