// SPDX-License-Identifier: BSD-3-Clause
// The time line of emulated IPUs in the format of Chrome's trace viewer: chrome://tracing and ui.perfetto.dev show it.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/report/detail/text_writer.hpp>
#include <stagecraft/report/detail/time_line_cut.hpp>
#include <stagecraft/report/profile_data.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace stagecraft::reports {

/// Writes a profile's time line: passes, in them layers, in them the uses of the time.
class profile_trace_writer {
 public:
  explicit profile_trace_writer(profile_data const& data) : data_(data), text_(about(data)) {}

  [[nodiscard]] std::string write() {
    for (std::size_t i = 0; i < data_.ipus.size(); ++i) {
      int const ipu = data_.ipus[i].ipu;
      if (i == 0) text_.name_process(0, ipu, data_.model.empty() ? "replica 0" : data_.model);
      text_.name_row(0, ipu, "IPU " + std::to_string(ipu) + ", " + stages_text(data_, ipu));
    }
    for (auto const& ipu : data_.ipus) write_ipu(ipu.ipu);
    return text_.end();
  }

 private:
  static std::string about(profile_data const& data) {
    text_writer text;
    text << "\"machine\": ";
    text.quoted(data.machine.name) << ", \"clock\": " << static_cast<long long>(data.machine.tile_clock_frequency)
                                   << ", \"cycles\": " << static_cast<long long>(data.time_line.cycles)
                                   << ", \"slots_left_out\": " << data.time_line.slots_left_out;
    return text.take();
  }

  void write_ipu(int ipu) {
    auto const& gap = data_.time_line.left_out;
    bool has_gap = gap.begin < gap.end;
    auto const write_gap = [&] {
      if (std::exchange(has_gap, false))
        event(ipu, counted(data_.time_line.slots_left_out, "slot") + " left out", "steady state", gap.begin, gap.end)
            << "}}";
    };
    for (auto const& pass : passes_of(data_.time_line, ipu)) {
      if (pass.begin >= gap.end) write_gap();
      write_pass(ipu, pass);
    }
    write_gap();
  }

  void write_pass(int ipu, time_line_pass const& pass) {
    auto& text = event(ipu, pass_label(pass.pass, pass.stage, pass.micro_batch, has_several_stages(data_, ipu)),
                       to_string(pass.pass), pass.begin, pass.end);
    if (pass.stage >= 0) text << ", \"stage\": " << pass.stage;
    if (pass.micro_batch >= 0) text << ", \"micro_batch\": " << pass.micro_batch;
    text << "}}";
    for (std::size_t i = 0, end = 0; i < pass.events.size(); i = end) {
      int const layer = pass.events[i].layer;
      for (end = i + 1; end < pass.events.size() && pass.events[end].layer == layer;) ++end;
      if (layer >= 0 && static_cast<std::size_t>(layer) < data_.layers.size())
        event(ipu, data_.layers[layer].name, data_.layers[layer].class_name, pass.events[i].begin,
              pass.events[end - 1].end)
            << "}}";
      for (std::size_t j = i; j < end; ++j)
        event(ipu, to_string(pass.events[j].kind), to_string(pass.events[j].kind), pass.events[j].begin,
              pass.events[j].end)
            << "}}";
    }
  }

  /// Begins an event; the caller appends its arguments.
  text_writer& event(int ipu, std::string_view name, std::string_view category, std::int64_t begin, std::int64_t end) {
    auto const from = picoseconds(begin);
    return text_.event(0, ipu, name, category, from, picoseconds(end) - from)
           << ", \"args\": {\"cycles\": " << static_cast<long long>(end - begin);
  }
  /// Picoseconds of `cycles`, exact enough that events which touch each other still do. A time that 64 bits cannot
  /// hold is cut.
  [[nodiscard]] std::int64_t picoseconds(std::int64_t cycles) const {
    double const time = data_.machine.seconds(cycles) * 1e12;
    return time < 9e18 ? static_cast<std::int64_t>(time + 0.5) : std::int64_t{9'000'000'000'000'000'000};
  }

  profile_data const& data_;
  trace_writer text_;
};

}  // namespace stagecraft::reports

namespace stagecraft {

/// The activities of the emulated IPUs in a weight update, as JSON for Chrome's trace viewer: a row per IPU, in it
/// passes, named as in a timetable (F3, B3, U), in them layers, and in those the uses of the time. Each event has its
/// cycles; time is that of the machine's clock. Where the profile leaves out slots of the steady state, an event says
/// so.
[[nodiscard]] inline std::string profile_trace(profile_data const& data) {
  return detail::profile_trace_writer(data).write();
}

/// Writes profile_trace(data) to a file. Throws file_error E5050 if that is not possible.
inline void write_profile_trace(profile_data const& data, std::string const& to_file = "profile.trace.json") {
  detail::write_text_file(to_file, profile_trace(data), "write_profile_trace");
}

}  // namespace stagecraft

#include <stagecraft/diagnostics/end_headers.hpp>
