// SPDX-License-Identifier: BSD-3-Clause
// Charts of time: the activities of each IPU over time, and its cycles by purpose.
#pragma once

#include <stagecraft/report/detail/svg_drawing.hpp>
#include <stagecraft/report/detail/time_line_cut.hpp>
#include <stagecraft/report/profile_options.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft::reports {

/// Draws two rows for each IPU: the passes, in the colours of a timetable's micro-batches, and the uses of the time.
class time_line_chart {
 public:
  time_line_chart(profile_data const& data, profile_report_options const& options)
      : data_(data), cut_(data.time_line, slots_of(data, options)), drawing_("Time line") {
    std::size_t shown = 0;
    for (auto const& slot : data.time_line.slots)
      for (auto const& span : cut_.spans) shown += slot.begin >= span.begin && slot.end <= span.end ? 1 : 0;
    // The width is enough for the names of most passes; a page scrolls.
    double const per_slot = data.trains && data.schedule == schedule::grouped ? 80 : 44;
    width_ = std::max(least_width, per_slot * static_cast<double>(shown));
    scale_ = cut_.cycles() > 0 ? (width_ - gap_width * gaps()) / static_cast<double>(cut_.cycles()) : 0;
  }

  [[nodiscard]] std::string draw() {
    std::vector<legend_entry> entries;
    for (int i = 0; i < cycle_kind_count; ++i)
      entries.push_back({color_of(static_cast<cycle_kind>(i)), std::string(to_string(static_cast<cycle_kind>(i)))});
    top_ = draw_legend(drawing_, left, left + width_, 30, entries) + 14;
    double const bottom = top_ + row * static_cast<double>(data_.ipus.size());
    draw_slots(bottom);
    for (std::size_t i = 0; i < data_.ipus.size(); ++i)
      draw_ipu(data_.ipus[i].ipu, top_ + row * static_cast<double>(i));
    draw_gap(bottom);
    draw_axis(bottom);
    return drawing_.document(left + width_ + 24, bottom + 62);
  }

 private:
  static constexpr double left = 84, row = 62, gap_width = 44, least_width = 1016;

  /// The number of slots that shows the ramp-up of a pipeline with many stages, and some slots after it.
  static int slots_of(profile_data const& data, profile_report_options const& options) {
    if (options.max_slots <= 0) return 0;
    return std::max(options.max_slots, std::min(data.timetable().ramp_up_slots(), 64) + 8);
  }
  [[nodiscard]] double gaps() const { return cut_.is_cut() ? 1 : 0; }
  /// The left end of a span.
  [[nodiscard]] double x_of_span(std::size_t span) const {
    double x = left;
    for (std::size_t i = 0; i < span; ++i)
      x += static_cast<double>(cut_.spans[i].end - cut_.spans[i].begin) * scale_ + gap_width;
    return x;
  }
  [[nodiscard]] double x_in(std::size_t span, std::int64_t cycle) const {
    auto const& own = cut_.spans[span];
    return x_of_span(span) + static_cast<double>(std::clamp(cycle, own.begin, own.end) - own.begin) * scale_;
  }

  void draw_slots(double bottom) {
    for (std::size_t span = 0; span < cut_.spans.size(); ++span) {
      double last = -100;
      for (auto const& slot : data_.time_line.slots) {
        if (slot.begin < cut_.spans[span].begin || slot.begin >= cut_.spans[span].end) continue;
        double const x = x_in(span, slot.begin);
        if (x - last < 3) continue;
        drawing_.line(x, top_ - 10, x, bottom, "grid-edge");
        last = x;
      }
    }
  }

  void draw_ipu(int ipu, double y) {
    drawing_.text(left - 10, y + 18, "IPU " + std::to_string(ipu),
                  {.size = 13, .anchor = text_anchor::end, .bold = true});
    drawing_.text(left - 10, y + 34, stages_text(data_, ipu),
                  {.size = 10.5, .color = "faint", .anchor = text_anchor::end});
    auto const passes = passes_of(data_.time_line, ipu);
    for (std::size_t span = 0; span < cut_.spans.size(); ++span) {
      double const x1 = x_of_span(span), x2 = x_in(span, cut_.spans[span].end);
      drawing_.box(x1, y + 2, x2 - x1, 24, "panel", 3);
      drawing_.box(x1, y + 29, x2 - x1, 22, "grid", 3);
      for (auto const& pass : passes)
        if (pass.end > cut_.spans[span].begin && pass.begin < cut_.spans[span].end) draw_pass(ipu, pass, span, y);
      draw_uses(passes, span, y + 29);
    }
  }

  void draw_pass(int ipu, time_line_pass const& pass, std::size_t span, double y) {
    double const x1 = x_in(span, pass.begin), x2 = x_in(span, pass.end), width = x2 - x1;
    if (width < 0.3) return;
    auto const label = pass_label(pass.pass, pass.stage, pass.micro_batch, has_several_stages(data_, ipu));
    bool const moves =
        pass.pass == pass_kind::infeed || pass.pass == pass_kind::outfeed || pass.pass == pass_kind::send;
    bool const strong = pass.pass == pass_kind::backward || pass.micro_batch < 0;
    auto const number = std::max(pass.micro_batch, 0);
    // Colours are those of a timetable.
    std::string color = moves                  ? "grid"
                        : pass.micro_batch < 0 ? "gray"
                        : strong               ? strong_class(number)
                                               : tint_class(number);
    if (pass.pass == pass_kind::recompute && width > 6) color += " " + strong_class(number) + "-edge";
    drawing_.begin_hint(label + ": " + std::string(to_string(pass.pass)) +
                        (pass.stage < 0 ? "" : ", stage " + std::to_string(pass.stage)) +
                        (pass.micro_batch < 0 ? "" : ", micro-batch " + std::to_string(pass.micro_batch)) + ", " +
                        grouped_digits(pass.end - pass.begin) + " cycles from " + grouped_digits(pass.begin) + " on");
    drawing_.box(x1 + (width > 3 ? 0.5 : 0), y + 2, width > 3 ? width - 1 : width, 24, color, width > 6 ? 3 : 0);
    if (text_width(label, 11) <= width - 3)
      drawing_.text((x1 + x2) / 2, y + 18, label,
                    {.size = 11, .color = strong && !moves ? "white" : "ink", .anchor = text_anchor::middle});
    drawing_.end_hint();
  }

  /// Draws the uses of the time in columns of a pixel: each has its uses one above the other, by their parts of its
  /// time.
  void draw_uses(std::vector<time_line_pass> const& passes, std::size_t span, double y) {
    auto const& own = cut_.spans[span];
    double const x = x_of_span(span), width = x_in(span, own.end) - x;
    auto const columns = static_cast<std::size_t>(width);
    if (columns == 0) return;
    std::vector<std::array<double, cycle_kind_count>> uses(columns);
    double const per_column = static_cast<double>(own.end - own.begin) / static_cast<double>(columns);
    for (auto const& pass : passes)
      for (auto const& event : pass.events) {
        double const begin = static_cast<double>(std::max(event.begin, own.begin) - own.begin) / per_column;
        double const end = static_cast<double>(std::min(event.end, own.end) - own.begin) / per_column;
        for (auto i = static_cast<std::size_t>(begin); begin < end && i < columns && static_cast<double>(i) < end;
             ++i) {
          double const from = std::max(begin, static_cast<double>(i)), to = std::min(end, static_cast<double>(i + 1));
          uses[i][static_cast<std::size_t>(event.kind)] += to - from;
        }
      }
    chart_area const area{x, y, width, 22, static_cast<double>(columns), 100};
    std::vector<std::vector<std::int64_t>> heights(cycle_kind_count);
    for (auto const& column : uses) {
      double sum = 0;
      for (std::size_t kind = 0; kind < column.size(); ++kind)
        heights[kind].push_back(static_cast<std::int64_t>(std::min(100.0, 100 * (sum += column[kind])) + 0.5));
    }
    for (std::size_t kind = cycle_kind_count - 1; kind-- > 0;) {
      bool const is_used = std::any_of(uses.begin(), uses.end(), [&](auto const& column) { return column[kind] > 0; });
      if (is_used) drawing_.area(step_path(area, heights[kind]), color_of(static_cast<cycle_kind>(kind)));
    }
  }

  void draw_gap(double bottom) {
    if (!cut_.is_cut()) return;
    double const x = cut_.spans.size() > 1 ? x_of_span(1) - gap_width / 2 : left + width_ - gap_width / 2;
    for (double y = top_ + 26; y < bottom; y += row)
      for (int dot = -1; dot <= 1; ++dot) drawing_.box(x + 8 * dot - 1.5, y - 1.5, 3, 3, "line", 1.5);
    if (cut_.slots_left_out > 0)
      drawing_.text(x, top_ - 8, "+" + std::to_string(cut_.slots_left_out),
                    {.size = 10.5, .color = "faint", .anchor = text_anchor::middle});
  }

  void draw_axis(double bottom) {
    double const per_nanosecond = static_cast<double>(data_.machine.tile_clock_frequency) / 1e9;
    if (per_nanosecond > 0) {
      auto const nanoseconds = static_cast<std::int64_t>(static_cast<double>(cut_.cycles()) / per_nanosecond);
      auto const distance = static_cast<double>(tick_distance(nanoseconds, 10, false)) * per_nanosecond;
      for (std::size_t span = 0; span < cut_.spans.size(); ++span) draw_ticks(span, distance, bottom);
    }
    drawing_.text(left, bottom + 42,
                  grouped_digits(data_.time_line.cycles) + " cycles, " +
                      seconds_text(data_.machine.seconds(data_.time_line.cycles)) + cut_text(),
                  {.size = 12, .color = "faint"});
  }
  void draw_ticks(std::size_t span, double distance, double bottom) {
    auto const& own = cut_.spans[span];
    drawing_.line(x_of_span(span), bottom, x_in(span, own.end), bottom, "line-edge");
    auto const begin = static_cast<double>(own.begin), end = static_cast<double>(own.end);
    for (auto number = static_cast<std::int64_t>(begin / distance); static_cast<double>(number) * distance < end;
         ++number) {
      double const cycle = static_cast<double>(number) * distance;
      if (cycle < begin) continue;
      double const x = x_of_span(span) + (cycle - begin) * scale_;
      drawing_.line(x, bottom, x, bottom + 4, "line-edge");
      auto const label =
          number == 0 ? "0" : seconds_text(data_.machine.seconds(static_cast<std::int64_t>(cycle + 0.5)));
      if (x + text_width(label, 10.5) / 2 < left + width_ + 20)
        drawing_.text(x, bottom + 17, label, {.size = 10.5, .color = "faint", .anchor = text_anchor::middle});
    }
  }
  [[nodiscard]] std::string cut_text() const {
    if (!cut_.is_cut()) return {};
    std::int64_t const hidden = data_.time_line.cycles - cut_.cycles();
    return "; not shown: " + (cut_.slots_left_out > 0 ? counted(cut_.slots_left_out, "slot") + ", " : "") +
           seconds_text(data_.machine.seconds(hidden));
  }

  profile_data const& data_;
  time_line_cut cut_;
  svg_drawing drawing_;
  double width_ = 0, scale_ = 0, top_ = 0;
};

/// Draws a bar for each IPU: the cycles of a weight update by purpose.
class cycles_chart {
 public:
  explicit cycles_chart(profile_data const& data) : data_(data), drawing_("Cycles by use") {}

  [[nodiscard]] std::string draw() {
    std::vector<legend_entry> entries;
    for (int i = 0; i < cycle_kind_count; ++i)
      entries.push_back({color_of(static_cast<cycle_kind>(i)), std::string(to_string(static_cast<cycle_kind>(i)))});
    double y = draw_legend(drawing_, left, left + width, 30, entries) + 2;
    for (auto const& ipu : data_.ipus) y = draw_ipu(ipu, y);
    return drawing_.document(left + width + 24, y + 8);
  }

 private:
  static constexpr double left = 84, width = 1016, row = 34;

  double draw_ipu(profile_ipu const& ipu, double y) {
    std::int64_t sum = 0;
    for (auto const cycles : ipu.cycles_of) sum += cycles;
    drawing_.text(left - 10, y + 17, "IPU " + std::to_string(ipu.ipu),
                  {.size = 13, .anchor = text_anchor::end, .bold = true});
    double x = left;
    for (std::size_t i = 0; i < ipu.cycles_of.size() && i < cycle_kind_count; ++i) {
      if (ipu.cycles_of[i] <= 0) continue;
      auto const kind = static_cast<cycle_kind>(i);
      double const part = share_of(ipu.cycles_of[i], sum), own = width * part;
      auto const label = percent_text(part);
      drawing_.begin_hint(std::string(to_string(kind)) + ": " + grouped_digits(ipu.cycles_of[i]) + " cycles, " + label);
      drawing_.box(x, y, own, 26, color_of(kind));
      if (text_width(label, 11) <= own - 4)
        drawing_.text(x + own / 2, y + 17, label,
                      {.size = 11, .color = kind == cycle_kind::idle ? "ink" : "white", .anchor = text_anchor::middle});
      drawing_.end_hint();
      x += own;
    }
    return y + row;
  }

  profile_data const& data_;
  svg_drawing drawing_;
};

}  // namespace stagecraft::reports
