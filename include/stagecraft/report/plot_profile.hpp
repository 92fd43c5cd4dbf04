// SPDX-License-Identifier: BSD-3-Clause
// Pictures of a profile. Graphcore's counterparts: the memory, liveness and execution trace reports of PopVision.
#pragma once

#include <stagecraft/report/detail/memory_chart.hpp>
#include <stagecraft/report/detail/time_line_chart.hpp>
#include <stagecraft/report/profile_data.hpp>
#include <stagecraft/report/profile_options.hpp>
#include <string>

namespace stagecraft {

/// What lies in the memory of each tile, by category, at the peak: SVG, an IPU below the other. A dashed line is the
/// memory that a tile has, where that is not far above.
[[nodiscard]] inline std::string memory_svg(profile_data const& data) { return detail::tile_memory_chart(data).draw(); }

/// What lies in the memory of each IPU's fullest tile, step by step of its program, with the peak: SVG.
[[nodiscard]] inline std::string liveness_svg(profile_data const& data) { return detail::liveness_chart(data).draw(); }

/// What each IPU does when: SVG. The upper row of an IPU are its passes, named as in a timetable, the lower one is what
/// takes the time: compute, exchange, sync, and so on. Of a long time line, `options.max_slots` are shown.
[[nodiscard]] inline std::string time_line_svg(profile_data const& data, profile_report_options const& options = {}) {
  return detail::time_line_chart(data, options).draw();
}

/// On what each IPU spends the cycles of a weight update: SVG, a bar for each.
[[nodiscard]] inline std::string cycles_svg(profile_data const& data) { return detail::cycles_chart(data).draw(); }

}  // namespace stagecraft
