// SPDX-License-Identifier: BSD-3-Clause
// The options of a profile's reports.
#pragma once

#include <string>

namespace stagecraft {

/// Options of `profile_text`, `profile_html` and of the pictures in report/plot_profile.hpp.
struct profile_report_options {
  /// Above the report; empty: the model's name.
  std::string title = {};
  /// So many slots of the time line and of the pipeline are shown at most: of a longer one the first ones, of the time
  /// line more where the ramp-up takes more, and the last ones. 0: all.
  int max_slots = 24;
  /// Rows of the text's table of layers, those that take most time. 0: all. The page has all of them.
  int max_layers = 30;
  /// What `profile_json` wrote, which becomes a part of the page for programs that read it; empty: nothing.
  std::string json = {};
};

}  // namespace stagecraft
