// SPDX-License-Identifier: BSD-3-Clause
// A pipeline's timetable as lines of text: devices down, slots across.
#pragma once

#include <stagecraft/report/detail/timetable_grid.hpp>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft::reports {

/// Lines that grow to the right, column by column.
class text_columns {
 public:
  explicit text_columns(std::size_t lines) : lines_(lines) {}

  /// A column as wide as its widest cell; `rule` is what separates it from the one before.
  void add(std::vector<std::string> const& cells) {
    std::size_t width = 0;
    for (auto const& cell : cells) width = cell.size() > width ? cell.size() : width;
    starts_.push_back(lines_[0].size());
    for (std::size_t i = 0; i < lines_.size(); ++i) (lines_[i] += cells[i]).append(width - cells[i].size() + 2, ' ');
  }
  /// Where a column begins; behind the last one: where the lines end.
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

/// A name between bars, over the columns of one phase: "|-ramp-up-|". What does not fit is left out: "|-up-|", "|--|".
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
/// where micro-batch 3 comes from the host, O3 where its results go there.
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

}  // namespace stagecraft
