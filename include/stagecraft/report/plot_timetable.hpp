// SPDX-License-Identifier: BSD-3-Clause
// A pipeline's timetable as a file.
#pragma once

#include <stagecraft/report/detail/text_file.hpp>
#include <stagecraft/report/timetable_svg.hpp>
#include <stagecraft/report/timetable_text.hpp>
#include <string>

namespace stagecraft {

/// Writes a timetable to a file: as a picture if its name ends in .svg, as text if it ends in .txt. Throws file_error:
/// E5050 if the file cannot be written, E5051 if its name ends in something else.
///
///     sc::plot_timetable(sc::timetable_of<two_stages, training>, "timetable.svg");
inline void plot_timetable(timetable const& table, std::string const& to_file = "timetable.svg",
                           timetable_picture_options const& options = {}) {
  if (to_file.ends_with(".svg"))
    detail::write_text_file(to_file, timetable_svg(table, options), "plot_timetable");
  else if (to_file.ends_with(".txt"))
    detail::write_text_file(to_file, timetable_text(table, options), "plot_timetable");
  else
    detail::throw_unknown_ending(to_file, ".svg or .txt", "plot_timetable");
}

}  // namespace stagecraft
