// SPDX-License-Identifier: BSD-3-Clause
// Pictures of a profile: charts of memory by tile and over the steps, and of time. Graphcore's counterparts: the
// memory, liveness and execution trace reports of PopVision.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/report/detail/svg_drawing.hpp>
#include <stagecraft/report/detail/time_line_chart.hpp>
#include <stagecraft/report/detail/time_line_cut.hpp>
#include <stagecraft/report/profile_data.hpp>
#include <stagecraft/report/profile_options.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft::reports {

inline constexpr double chart_width = 1120, chart_left = 84, chart_right = 20, chart_height = 150;

/// Draws the memory of each tile by category, an IPU below the other.
class tile_memory_chart {
 public:
  explicit tile_memory_chart(profile_data const& data) : data_(data), drawing_("Memory by tile") {}

  [[nodiscard]] std::string draw() {
    std::int64_t most = 0;
    for (auto const& ipu : data_.ipus) most = std::max(most, ipu.most_bytes());
    double const top = bytes_scale(most, data_.machine.bytes_per_tile);
    double y = 30 + draw_legend();
    for (auto const& ipu : data_.ipus) y = draw_ipu(ipu, y, top);
    return drawing_.document(chart_width, y);
  }

 private:
  double draw_legend() {
    std::vector<legend_entry> entries;
    for (int i = 0; i < memory_category_count; ++i) {
      auto const category = static_cast<memory_category>(i);
      bool const is_used =
          std::any_of(data_.ipus.begin(), data_.ipus.end(), [&](auto const& ipu) { return ipu.bytes(category) > 0; });
      if (is_used) entries.push_back({color_of(category), std::string(to_string(category))});
    }
    return detail::draw_legend(drawing_, chart_left, chart_width - chart_right, 30, entries) - 20;
  }

  double draw_ipu(profile_ipu const& ipu, double y, double top) {
    chart_area area{chart_left, y + 28, chart_width - chart_left - chart_right, chart_height, 1, top};
    auto const columns = columns_of(ipu, area.width);
    area.most_across = std::max(1.0, static_cast<double>(columns[0].size()));
    drawing_.text(20, y, "IPU " + std::to_string(ipu.ipu), stages_text(data_, ipu.ipu) + needs_text(ipu), "faint",
                  {.size = 13, .bold = true}, 8);
    drawing_.box(area.x, area.y, area.width, area.height, "panel");
    draw_bytes_axis(drawing_, area);
    for (int i = memory_category_count - 1; i >= 0; --i)
      draw_category(ipu, static_cast<memory_category>(i), area, columns);
    drawing_.line(area.x, area.y_of(0), area.x + area.width, area.y_of(0), "line-edge");
    draw_room(drawing_, area, data_.machine.bytes_per_tile);
    draw_tiles_axis(ipu, area);
    return area.y + area.height + 58;
  }

  /// The heights of each category with those below it, column by column. Where there are more tiles than the picture
  /// has room for, a column is the tile that needs most.
  [[nodiscard]] static std::array<std::vector<std::int64_t>, memory_category_count> columns_of(profile_ipu const& ipu,
                                                                                               double width) {
    auto const tiles = ipu.tiles.size(), columns = std::min(tiles, static_cast<std::size_t>(width));
    std::array<std::vector<std::int64_t>, memory_category_count> heights;
    for (std::size_t column = 0; column < columns; ++column) {
      auto const first = column * tiles / columns, last = (column + 1) * tiles / columns;
      auto fullest = first;
      for (auto tile = first; tile < last; ++tile)
        if (ipu.tiles[tile].total() > ipu.tiles[fullest].total()) fullest = tile;
      std::int64_t height = 0;
      for (std::size_t i = 0; i < heights.size(); ++i) heights[i].push_back(height += ipu.tiles[fullest].bytes[i]);
    }
    return heights;
  }

  void draw_category(profile_ipu const& ipu, memory_category category, chart_area const& area,
                     std::array<std::vector<std::int64_t>, memory_category_count> const& columns) {
    auto const bytes = ipu.bytes(category);
    if (bytes == 0) return;
    drawing_.begin_hint(std::string(to_string(category)) + ": " + bytes_text(bytes) + " on all tiles");
    drawing_.area(step_path(area, columns[static_cast<std::size_t>(category)]), color_of(category));
    drawing_.end_hint();
  }

  void draw_tiles_axis(profile_ipu const& ipu, chart_area const& area) {
    auto const tiles = static_cast<std::int64_t>(ipu.tiles.size());
    auto const distance = tick_distance(tiles, 10, false);
    double const bottom = area.y + area.height;
    for (std::int64_t tile = 0; tile < tiles; tile += distance) {
      double const x = area.x + area.width * static_cast<double>(tile) / static_cast<double>(tiles);
      drawing_.line(x, bottom, x, bottom + 4, "line-edge");
      drawing_.text(x, bottom + 16, std::to_string(tile),
                    {.size = 10.5, .color = "faint", .anchor = tile == 0 ? text_anchor::start : text_anchor::middle});
    }
    drawing_.text(area.x - 8, bottom + 16, "tile", {.size = 10.5, .color = "faint", .anchor = text_anchor::end});
  }

  [[nodiscard]] std::string needs_text(profile_ipu const& ipu) const {
    int const tile = ipu.fullest_tile();
    if (tile < 0) return {};
    auto const room = data_.machine.bytes_per_tile;
    return "; tile " + std::to_string(tile) + " needs most: " + bytes_text(ipu.most_bytes()) +
           (room > 0 ? ", " + percent_text(share_of(ipu.most_bytes(), room)) + " of " + bytes_text(room) : "");
  }

  profile_data const& data_;
  svg_drawing drawing_;
};

/// Draws the memory of each IPU's fullest tile, step by step.
class liveness_chart {
 public:
  explicit liveness_chart(profile_data const& data) : data_(data), drawing_("Memory over the program") {}

  [[nodiscard]] std::string draw() {
    std::int64_t most = 0;
    for (auto const& ipu : data_.ipus)
      for (auto const& step : ipu.steps) most = std::max(most, step.bytes());
    double const top = bytes_scale(most, data_.machine.bytes_per_tile);
    double y = draw_legend(drawing_, chart_left, chart_width - chart_right, 30,
                           {{"s0", "always live"}, {"s1", "not always live"}}) +
               10;
    for (auto const& ipu : data_.ipus) y = draw_ipu(ipu, y, top);
    return drawing_.document(chart_width, y);
  }

 private:
  double draw_ipu(profile_ipu const& ipu, double y, double top) {
    chart_area const area{chart_left,
                          y + 28,
                          chart_width - chart_left - chart_right,
                          chart_height,
                          std::max(1.0, static_cast<double>(ipu.steps.size())),
                          top};
    drawing_.text(20, y, "IPU " + std::to_string(ipu.ipu), peak_text(ipu), "faint", {.size = 13, .bold = true}, 8);
    drawing_.box(area.x, area.y, area.width, area.height, "panel");
    draw_bytes_axis(drawing_, area);
    std::vector<std::int64_t> all, always;
    for (auto const& step : ipu.steps) {
      all.push_back(step.bytes());
      always.push_back(step.always_live_bytes);
    }
    drawing_.area(step_path(area, all), "s1");
    drawing_.area(step_path(area, always), "s0");
    drawing_.line(area.x, area.y_of(0), area.x + area.width, area.y_of(0), "line-edge");
    draw_room(drawing_, area, data_.machine.bytes_per_tile);
    draw_passes(ipu, area);
    draw_peak(ipu, area);
    draw_hints(ipu, area);
    return area.y + area.height + 62;
  }

  /// Draws bands below the axis that say which pass the steps belong to.
  void draw_passes(profile_ipu const& ipu, chart_area const& area) {
    bool const names_stages = has_several_stages(data_, ipu.ipu);
    double const y = area.y + area.height + 5;
    auto const& steps = ipu.steps;
    for (std::size_t i = 0, end = 0; i < steps.size(); i = end) {
      for (end = i + 1; end < steps.size() && steps[end].pass == steps[i].pass && steps[end].stage == steps[i].stage;)
        ++end;
      double const x1 = area.x_of(static_cast<double>(i)), x2 = area.x_of(static_cast<double>(end));
      auto name = std::string(to_string(steps[i].pass));
      if (names_stages && steps[i].stage >= 0) name += ", stage " + std::to_string(steps[i].stage);
      if (text_width(name, 11) > x2 - x1 - 6) name = pass_label(steps[i].pass, steps[i].stage, -1, names_stages);
      drawing_.begin_hint(std::string(to_string(steps[i].pass)) + ": " + std::to_string(end - i) + " steps");
      drawing_.box(x1 + 0.5, y, std::max(x2 - x1 - 1, 0.5), 17,
                   steps[i].stage < 0 ? "grid" : tint_class(steps[i].stage), 3);
      if (text_width(name, 11) <= x2 - x1 - 2)
        drawing_.text((x1 + x2) / 2, y + 12.5, name, {.size = 11, .anchor = text_anchor::middle});
      drawing_.end_hint();
    }
  }

  void draw_peak(profile_ipu const& ipu, chart_area const& area) {
    int const peak = ipu.peak_step();
    if (peak < 0) return;
    auto const& step = ipu.steps[static_cast<std::size_t>(peak)];
    double const x = area.x_of(peak + 0.5), y = area.y_of(static_cast<double>(step.bytes()));
    drawing_.line(x, area.y - 6, x, std::max(y, area.y - 6), "ink-edge", 1.5);
    bool const is_right = x > area.x + area.width / 2;
    drawing_.text(is_right ? x + 4 : x - 4, area.y - 9, "peak",
                  {.size = 11, .anchor = is_right ? text_anchor::end : text_anchor::start, .bold = true});
  }

  /// Draws a hint for each step that is wide enough for the pointer.
  void draw_hints(profile_ipu const& ipu, chart_area const& area) {
    if (static_cast<double>(ipu.steps.size()) > area.width / 2) return;
    for (std::size_t i = 0; i < ipu.steps.size(); ++i) {
      auto const& step = ipu.steps[i];
      double const x = area.x_of(static_cast<double>(i));
      drawing_.begin_hint(step.layer + ", " + std::string(to_string(step.pass)) + ": " + bytes_text(step.bytes()) +
                          ", of them not always live: " + bytes_text(step.not_always_live_bytes));
      drawing_.hidden_box(x, area.y, area.x_of(static_cast<double>(i + 1)) - x, area.height);
      drawing_.end_hint();
    }
  }

  [[nodiscard]] std::string peak_text(profile_ipu const& ipu) const {
    int const peak = ipu.peak_step();
    if (peak < 0) return "no steps";
    auto const& step = ipu.steps[static_cast<std::size_t>(peak)];
    return "tile " + std::to_string(std::max(ipu.fullest_tile(), 0)) + "; most in " + step.layer + ", " +
           std::string(to_string(step.pass)) + ": " + bytes_text(step.bytes()) + ", of which " +
           bytes_text(step.always_live_bytes) + " are always live";
  }

  profile_data const& data_;
  svg_drawing drawing_;
};

}  // namespace stagecraft::reports

namespace stagecraft {

/// The memory of each tile at the peak, by category: SVG, an IPU below the other. A dashed line is the memory that a
/// tile has, where that is not far above.
[[nodiscard]] inline std::string memory_svg(profile_data const& data) { return detail::tile_memory_chart(data).draw(); }

/// The memory of each IPU's fullest tile, step by step, with the peak: SVG.
[[nodiscard]] inline std::string liveness_svg(profile_data const& data) { return detail::liveness_chart(data).draw(); }

/// The activities of each IPU over time: SVG. The upper row of an IPU shows its passes, named as in a timetable, the
/// lower row the uses of the time: compute, exchange, sync, and so on. A long time line is cut to `options.max_slots`.
[[nodiscard]] inline std::string time_line_svg(profile_data const& data, profile_report_options const& options = {}) {
  return detail::time_line_chart(data, options).draw();
}

/// The cycles of a weight update by purpose: SVG, a bar for each IPU.
[[nodiscard]] inline std::string cycles_svg(profile_data const& data) { return detail::cycles_chart(data).draw(); }

}  // namespace stagecraft

#include <stagecraft/diagnostics/end_headers.hpp>
