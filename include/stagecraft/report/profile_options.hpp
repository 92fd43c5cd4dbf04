// SPDX-License-Identifier: BSD-3-Clause
// The options of a profile's reports.
#pragma once

#include <string>

namespace stagecraft {

/// Options of `profile_text`, `profile_html` and of the pictures in report/plot_profile.hpp.
struct profile_report_options {
  /// The title above the report; empty: the model's name.
  std::string title = {};
  /// The most slots of the time line and of the pipeline that are shown: the first and the last ones. The time line
  /// shows more if the ramp-up takes more. 0: all.
  int max_slots = 24;
  /// Rows of the text's table of layers, those that take most time. 0: all. The page has all of them.
  int max_layers = 30;
  /// The text of `profile_json`, which the page contains for programs that read it; empty: nothing.
  std::string json = {};
};

}  // namespace stagecraft
