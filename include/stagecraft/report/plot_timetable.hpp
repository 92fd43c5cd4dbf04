// SPDX-License-Identifier: BSD-3-Clause
// A pipeline's timetable as lines of text and as a picture: devices down, slots across. In the picture, each
// micro-batch has its own colour, as in the guide's figures of the grouped, interleaved and sequential pipeline.
#pragma once

#include <stagecraft/report/detail/svg_drawing.hpp>
#include <stagecraft/report/detail/text_writer.hpp>
#include <stagecraft/report/detail/timetable_grid.hpp>
#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft::reports {

/// Draws one timetable.
class timetable_drawing {
 public:
  timetable_drawing(timetable const& table, timetable_picture_options const& options)
      : grid_(table, options), drawing_(grid_.title(options) + ": " + grid_.description()) {
    double widest = 0, widest_move = 0;
    for (auto const& column : grid_.columns())
      for (int device = 0; column.slot >= 0 && device < table.devices(); ++device)
        for (auto const& cell : grid_.cells(column.slot, device))
          (cell.moves() ? widest_move : widest) = std::max(
              cell.moves() ? widest_move : widest, text_width(cell.label, cell.moves() ? move_text : cell_text));
    slot_width_ = std::max(std::max(28.0, widest + 9) * grid_.most_parts(), 2 * (widest_move + 5));
    if (table.overlaps_io()) row_ = pass_row + 15;
    for (int device = 0; device < table.devices(); ++device)
      left_ = std::max(left_, margin + 24 + text_width(grid_.stages_of(device), 11) + 12);
  }

  [[nodiscard]] std::string draw(timetable_picture_options const& options) {
    double const right = left_ + width_of(grid_.columns().size());
    double const bottom = top + row_ * grid_.table().devices();
    drawing_.text(margin, 34, grid_.title(options), {.size = 18, .bold = true});
    drawing_.text(margin, 54, grid_.description() + ", " + grid_.cost(), {.color = "faint"});
    draw_phases(bottom);
    draw_devices(right);
    for (std::size_t i = 0; i < grid_.columns().size(); ++i) draw_column(i, bottom);
    drawing_.text((left_ + right) / 2, bottom + 36, "slot", {.color = "faint", .anchor = text_anchor::middle});
    double const end_of_legend = draw_legend(bottom + 62);
    return drawing_.document(std::max({right + margin, end_of_legend, 420.0}), bottom + 84);
  }

 private:
  static constexpr double margin = 20, top = 96, pass_row = 38, cell_text = 12, move_text = 9.5, gap_width = 34;

  [[nodiscard]] double width_of(std::size_t columns) const {
    double width = 0;
    for (std::size_t i = 0; i < columns; ++i) width += column_width(i);
    return width;
  }
  [[nodiscard]] double column_width(std::size_t i) const {
    auto const& column = grid_.columns()[i];
    // The update has no other passes beside it.
    if (column.slot == grid_.table().slots()) return std::max(slot_width_ / grid_.most_parts(), 34.0);
    return column.slot < 0 ? gap_width : slot_width_;
  }

  /// Draws brackets over the slots: ramp-up, steady, ramp-down.
  void draw_phases(double bottom) {
    auto const& shown = grid_.columns();
    auto const phase = [&](std::size_t i) { return grid_.phase(i); };
    for (std::size_t i = 0, end = 0; i < shown.size(); i = end) {
      for (end = i + 1; end < shown.size() && phase(end) == phase(i);) ++end;
      double const x1 = left_ + width_of(i), x2 = left_ + width_of(end);
      if (i > 0) drawing_.line(x1, top - 22, x1, bottom + 4, "line-edge");
      std::string_view label = phase_name(phase(i));
      if (label.empty()) continue;
      if (text_width(label, 11) > x2 - x1 - 4 && label.find('-') != std::string_view::npos)
        label.remove_prefix(label.find('-') + 1);
      drawing_.box(x1 + 2, top - 9, x2 - x1 - 4, 3, phase(i) == timetable_phase::steady ? "faint" : "grid", 1.5);
      if (text_width(label, 11) <= x2 - x1)
        drawing_.text((x1 + x2) / 2, top - 15, label, {.size = 11, .color = "faint", .anchor = text_anchor::middle});
    }
  }

  void draw_devices(double right) {
    double const bottom = top + row_ * grid_.table().devices();
    drawing_.upright_text(margin + 4, (top + bottom) / 2, "device",
                          {.size = 11, .color = "faint", .anchor = text_anchor::middle});
    for (int device = 0; device < grid_.table().devices(); ++device) {
      double const y = top + row_ * device;
      drawing_.box(left_, y + 2, right - left_, row_ - 4, "panel", 4);
      drawing_.text(left_ - 10, y + row_ / 2 - 1, std::to_string(device),
                    {.size = 13, .anchor = text_anchor::end, .bold = true});
      drawing_.text(left_ - 10, y + row_ / 2 + 12, grid_.stages_of(device),
                    {.size = 10.5, .color = "faint", .anchor = text_anchor::end});
    }
  }

  void draw_column(std::size_t i, double bottom) {
    auto const& column = grid_.columns()[i];
    double const x = left_ + width_of(i), width = column_width(i);
    text_style const number{.size = 10.5, .color = "faint", .anchor = text_anchor::middle};
    if (column.slot < 0) {
      drawing_.box(x, top, width, bottom - top, "sheet");
      for (int device = 0; device < grid_.table().devices(); ++device)
        for (int dot = -1; dot <= 1; ++dot)
          drawing_.box(x + width / 2 + 8 * dot - 1.5, top + row_ * (device + 0.5) - 1.5, 3, 3, "line", 1.5);
      drawing_.text(x + width / 2, bottom + 16, "+" + std::to_string(column.hidden), number);
      return;
    }
    if (grid_.most_parts() > 1 && i > 0 && column.slot < grid_.table().slots())
      drawing_.line(x, top + 2, x, bottom - 2);
    if (column.slot < grid_.table().slots())
      drawing_.text(x + width / 2, bottom + 16, std::to_string(column.slot), number);
    for (int device = 0; device < grid_.table().devices(); ++device)
      for (auto const& cell : grid_.cells(column.slot, device)) {
        double const y = top + row_ * device + (cell.moves() ? pass_row - 2 : 4);
        draw_cell(x + cell.begin * width, y, (cell.end - cell.begin) * width, cell.label, cell.step.kind,
                  cell.step.micro_batch);
      }
  }

  void draw_cell(double x, double y, double width, std::string_view label, pass_kind kind, int micro_batch) {
    if (kind == pass_kind::infeed || kind == pass_kind::outfeed) {
      drawing_.box(x + 1, y, width - 2, 13, tint_class(micro_batch), 2);
      drawing_.text(x + width / 2, y + 10, label, {.size = move_text, .color = "ink", .anchor = text_anchor::middle});
      return;
    }
    bool const dark = kind == pass_kind::backward || kind == pass_kind::weight_update;
    std::string color = kind == pass_kind::weight_update ? "gray" : strong_class(micro_batch);
    if (kind == pass_kind::forward) color = tint_class(micro_batch);
    if (kind == pass_kind::recompute) color = tint_class(micro_batch) + " " + color + "-edge";
    double const outline = kind == pass_kind::recompute ? 0.5 : 0;
    drawing_.box(x + 1 + outline, y + outline, width - 2 - 2 * outline, pass_row - 8 - 2 * outline, color, 3);
    drawing_.text(x + width / 2, y + (pass_row - 8) / 2 + 4.3, label,
                  {.size = cell_text, .color = dark ? "white" : "ink", .anchor = text_anchor::middle});
  }

  /// Draws the legend; returns the x where it ends.
  double draw_legend(double y) {
    text_style const style{.size = 11, .color = "faint"};
    double x = margin;
    auto const say = [&](std::string_view text, double space) {
      drawing_.text(x, y + 4, text, style);
      x += text_width(text, style.size) + space;
    };
    auto const entry = [&](pass_kind kind, std::string_view label, std::string_view meaning) {
      if (!grid_.shows(kind)) return;
      double const width = std::max(30.0, text_width(label, cell_text) + 6);
      bool const moves = kind == pass_kind::infeed || kind == pass_kind::outfeed;
      draw_cell(x, y - (moves ? 6 : 15), width, label, kind, 0);
      x += width + 6;
      say(meaning, 18);
    };
    bool const stages = grid_.names_stages();
    say(stages ? "micro-batch 0 in stage 1:" : "micro-batch 0:", 8);
    entry(pass_kind::forward, stages ? "F0.1" : "F0", "forward");
    entry(pass_kind::recompute, stages ? "R0.1" : "R0", "recompute");
    entry(pass_kind::backward, stages ? "B0.1" : "B0", "backward");
    entry(pass_kind::weight_update, "U", "weight update");
    entry(pass_kind::infeed, "I0", "from the host");
    entry(pass_kind::outfeed, "O0", "to the host");
    return x;
  }

  timetable_grid grid_;
  svg_drawing drawing_;
  double left_ = 90;
  double row_ = pass_row;  ///< height of a row, with a strip for transfers if these are shown
  double slot_width_ = 28;
};

}  // namespace stagecraft::reports

namespace stagecraft {

/// The timetable of a pipeline as an SVG picture. The slots of the ramp-up, the steady block and the ramp-down are
/// marked; forward passes are light and backward passes dark in their micro-batch's colour, which repeats after eight.
/// With overlapped input and output, transfers have a strip below the passes. On a page in dark colours, the picture is
/// dark.
[[nodiscard]] inline std::string timetable_svg(timetable const& table, timetable_picture_options const& options = {}) {
  return detail::timetable_drawing(table, options).draw(options);
}

}  // namespace stagecraft

namespace stagecraft::reports {

/// Lines that grow to the right, column by column.
class text_columns {
 public:
  explicit text_columns(std::size_t lines) : lines_(lines) {}

  /// Adds a column as wide as its widest cell.
  void add(std::vector<std::string> const& cells) {
    std::size_t width = 0;
    for (auto const& cell : cells) width = cell.size() > width ? cell.size() : width;
    starts_.push_back(lines_[0].size());
    for (std::size_t i = 0; i < lines_.size(); ++i) (lines_[i] += cells[i]).append(width - cells[i].size() + 2, ' ');
  }
  /// The begin of a column; for the number after the last one, the end of the lines.
  [[nodiscard]] std::size_t start(std::size_t column) const {
    return column < starts_.size() ? starts_[column] : lines_[0].size();
  }
  [[nodiscard]] std::vector<std::string> const& lines() const { return lines_; }

 private:
  std::vector<std::string> lines_;
  std::vector<std::size_t> starts_;
};

inline void append_line(std::string& text, std::string line) {
  while (!line.empty() && line.back() == ' ') line.pop_back();
  text += line + '\n';
}

/// A name between bars, over the columns of one phase: "|-ramp-up-|". A name that does not fit is cut: "|-up-|",
/// "|--|".
inline std::string phase_text(std::string_view name, std::size_t width) {
  if (name.empty() || width < 2) return std::string(width, ' ');
  if (width < name.size() + 2) name.remove_prefix(name.find('-') == std::string_view::npos ? 0 : name.find('-') + 1);
  if (width < name.size() + 2) name = {};
  auto const left = (width - 2 - name.size()) / 2, right = width - 2 - name.size() - left;
  return '|' + std::string(left, '-').append(name).append(right, '-') + '|';
}

}  // namespace stagecraft::reports

namespace stagecraft {

/// The timetable of a pipeline as text:
///
///     Interleaved schedule: 2 stages on 2 devices, training, 4 micro-batches, 10 slots, bubble 20 %
///               |-up--| |-------steady--------| |down-|
///     slot      0   1   2   3   4   5   6   7   8   9   10
///     device 0  F0  .   F1  B0  F2  B1  F3  B2  .   B3  U   stage 0
///     device 1  .   F0  B0  F1  B1  F2  B2  F3  B3  .   U   stage 1
///
/// F3 is the forward pass of micro-batch 3, B3 its backward pass, R3 its recomputation, U the weight update; a device
/// with several stages has F3.1 for stage 1. A slot without a pass has a point. With overlapped input and output, I3 is
/// the transfer of micro-batch 3 from the host, O3 that of its results to the host.
[[nodiscard]] inline std::string timetable_text(timetable const& table, timetable_picture_options const& options = {}) {
  detail::timetable_grid const grid(table, options);
  auto const devices = static_cast<std::size_t>(table.devices());
  detail::text_columns columns(devices + 1);
  std::vector<std::string> cells(devices + 1);
  cells[0] = "slot";
  for (std::size_t d = 0; d < devices; ++d) cells[d + 1] = "device " + std::to_string(d);
  columns.add(cells);
  for (auto const& column : grid.columns()) {
    cells.assign(devices + 1, "...");
    if (column.slot >= 0) {
      cells[0] = std::to_string(column.slot);
      for (std::size_t d = 0; d < devices; ++d) {
        cells[d + 1].clear();
        for (auto const& cell : grid.cells(column.slot, static_cast<int>(d)))
          cells[d + 1] += (cells[d + 1].empty() ? "" : " ") + cell.label;
        if (cells[d + 1].empty()) cells[d + 1] = ".";
      }
    }
    columns.add(cells);
  }
  cells[0].clear();
  for (std::size_t d = 0; d < devices; ++d) cells[d + 1] = grid.stages_of(static_cast<int>(d));
  columns.add(cells);

  std::string phases(columns.start(1), ' ');
  auto const& shown = grid.columns();
  auto const phase = [&](std::size_t i) { return grid.phase(i); };
  for (std::size_t i = 0, end = 0; i < shown.size(); i = end) {
    for (end = i + 1; end < shown.size() && phase(end) == phase(i);) ++end;
    phases += detail::phase_text(phase_name(phase(i)), columns.start(end + 1) - columns.start(i + 1) - 1) + ' ';
  }
  std::string text = grid.title(options) + ": " + grid.description() + ", " + grid.cost() + '\n';
  detail::append_line(text, phases);
  for (auto const& line : columns.lines()) detail::append_line(text, line);
  return text;
}

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
