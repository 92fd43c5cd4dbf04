// SPDX-License-Identifier: BSD-3-Clause
// What charts have in common: an area with axes, stacked steps, a legend.
#pragma once

#include <stagecraft/report/detail/quantities.hpp>
#include <stagecraft/report/detail/svg_drawing.hpp>
#include <stagecraft/report/profile_data.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft::reports {

/// The colour of a part of the memory.
[[nodiscard]] constexpr std::string_view color_of(memory_category category) {
  constexpr std::string_view colors[memory_category_count]{"s0", "s3", "s4", "s2", "s5", "gray", "line", "s6", "s1"};
  return colors[static_cast<int>(category)];
}
/// The colour of a use of time. `idle` is that of the ground.
[[nodiscard]] constexpr std::string_view color_of(cycle_kind kind) {
  constexpr std::string_view colors[cycle_kind_count]{"s0", "s1", "s7", "s3", "s5", "s4", "grid"};
  return colors[static_cast<int>(kind)];
}

/// An area of a drawing in which `across` and `up` are shown, from 0 on.
struct chart_area {
  double x = 0, y = 0, width = 0, height = 0;
  double most_across = 1, most_up = 1;

  [[nodiscard]] double x_of(double across) const { return x + width * across / most_across; }
  [[nodiscard]] double y_of(double up) const { return y + height - height * up / most_up; }
};

/// Lines across at each tick of the bytes, with their numbers.
inline void draw_bytes_axis(svg_drawing& drawing, chart_area const& area) {
  auto const most = static_cast<std::int64_t>(area.most_up);
  auto const distance = tick_distance(most, 4, true);
  for (std::int64_t tick = 0; tick <= most; tick += distance) {
    double const y = area.y_of(static_cast<double>(tick));
    drawing.line(area.x, y, area.x + area.width, y, tick == 0 ? "line-edge" : "grid-edge");
    drawing.text(area.x - 8, y + 4, bytes_text(tick), {.size = 10.5, .color = "faint", .anchor = text_anchor::end});
  }
}

/// The text that describes a path: `heights[i]` is the height from i to i + 1, above the ground.
[[nodiscard]] inline std::string step_path(chart_area const& area, std::vector<std::int64_t> const& heights) {
  text_writer path;
  double const ground = area.y_of(0);
  path << 'M' << area.x << ' ' << ground;
  for (std::size_t i = 0, end = 0; i < heights.size(); i = end) {
    for (end = i + 1; end < heights.size() && heights[end] == heights[i];) ++end;
    double const y = area.y_of(static_cast<double>(heights[i]));
    path << 'L' << area.x_of(static_cast<double>(i)) << ' ' << y << 'L' << area.x_of(static_cast<double>(end)) << ' '
         << y;
  }
  path << 'L' << area.x_of(static_cast<double>(heights.size())) << ' ' << ground << 'z';
  return path.take();
}

/// Coloured squares with names, from left to right, in as many lines as it takes. Returns where the next thing begins.
struct legend_entry {
  std::string_view color;
  std::string name;
};
inline double draw_legend(svg_drawing& drawing, double left, double right, double y,
                          std::vector<legend_entry> const& entries) {
  double x = left;
  for (auto const& entry : entries) {
    double const width = 17 + text_width(entry.name, 12) + 14;
    if (x > left && x + width > right) {
      x = left;
      y += 20;
    }
    drawing.box(x, y - 10, 12, 12, entry.color, 2);
    drawing.text(x + 17, y, entry.name);
    x += width;
  }
  return y + 20;
}

/// A dashed line at the memory that a tile has, with its name, where it lies within the area.
inline void draw_room(svg_drawing& drawing, chart_area const& area, std::int64_t room) {
  if (room <= 0 || static_cast<double>(room) > area.most_up) return;
  double const y = area.y_of(static_cast<double>(room));
  for (double x = area.x; x < area.x + area.width; x += 12)
    drawing.line(x, y, std::min(x + 7, area.x + area.width), y, "ink-edge", 1.5);
  auto const label = "room: " + bytes_text(room);
  double const width = text_width(label, 11, true) + 12, right = area.x + area.width - 6;
  drawing.box(right - width, y - 9, width, 18, "sheet ink-edge", 4);
  drawing.text(right - width / 2, y + 4, label, {.size = 11, .anchor = text_anchor::middle, .bold = true});
}

/// The top of an axis that shows `most` bytes: with the room, unless that is far above.
[[nodiscard]] inline double bytes_scale(std::int64_t most, std::int64_t room) {
  auto const top = room > 0 && most * 2 >= room ? std::max(most, room) : most;
  return std::max(1.0, static_cast<double>(top) * 1.12);
}

}  // namespace stagecraft::reports
