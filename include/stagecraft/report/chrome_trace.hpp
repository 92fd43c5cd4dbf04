// SPDX-License-Identifier: BSD-3-Clause
// A trace of a real run in the format of Chrome's trace viewer: chrome://tracing and ui.perfetto.dev show it.
// Definition: Google's "Trace Event Format".
#pragma once

#include <stagecraft/engine/trace.hpp>
#include <stagecraft/report/detail/text_writer.hpp>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft::reports {

/// Writes the events of a recorded run.
class chrome_trace_writer {
 public:
  explicit chrome_trace_writer(trace const& record)
      : events_(record.events()), text_("\"dropped\": " + std::to_string(record.dropped())) {}

  [[nodiscard]] std::string write() {
    std::vector<std::pair<int, int>> rows;
    for (auto const& event : events_) {
      name_row(event, rows);
      write_event(event);
    }
    return text_.end();
  }

 private:
  /// Names the process of a replica and the row of a device when their first event comes.
  void name_row(trace_event const& event, std::vector<std::pair<int, int>>& rows) {
    bool replica_known = false;
    for (auto const& [replica, device] : rows) {
      replica_known = replica_known || replica == event.replica;
      if (replica == event.replica && device == event.device) return;
    }
    rows.push_back({event.replica, event.device});
    if (!replica_known) text_.name_process(event.replica, row_of(event), "replica " + std::to_string(event.replica));
    text_.name_row(event.replica, row_of(event), event.device < 0 ? "host" : "device " + std::to_string(event.device));
  }

  void write_event(trace_event const& event) {
    auto& text =
        text_.event(event.replica, row_of(event), label(event), to_string(event.kind),
                    1000 * (event.begin_ns - events_.front().begin_ns), 1000 * (event.end_ns - event.begin_ns));
    text << ", \"args\": {";
    if (event.stage >= 0) text << "\"stage\": " << event.stage << ", ";
    if (event.micro_batch >= 0) text << "\"micro_batch\": " << event.micro_batch << ", ";
    text << "\"worker\": " << event.worker << "}}";
  }

  /// The host's row is the first one.
  static int row_of(trace_event const& event) { return event.device + 1; }

  /// Names as in a timetable, so that the viewer gives each micro-batch's passes a colour of their own.
  static std::string label(trace_event const& event) {
    auto const number = event.micro_batch < 0 ? std::string() : std::to_string(event.micro_batch);
    switch (event.kind) {
      case pass_kind::forward: return "F" + number;
      case pass_kind::backward: return "B" + number;
      case pass_kind::recompute: return "R" + number;
      case pass_kind::weight_update: return "U";
      default: return std::string(to_string(event.kind)) + (number.empty() ? "" : " ") + number;
    }
  }

  std::vector<trace_event> events_;
  trace_writer text_;
};

}  // namespace stagecraft::reports

namespace stagecraft {

/// A recorded run as JSON for Chrome's trace viewer: a process per replica, a row per device, and an event per pass,
/// named as in a timetable (F3, B3, U), with its stage, micro-batch and thread. Time begins with the first event.
[[nodiscard]] inline std::string chrome_trace(trace const& record) {
  return detail::chrome_trace_writer(record).write();
}

/// Writes chrome_trace(record) to a file. Throws file_error E5050 if that is not possible.
inline void write_chrome_trace(trace const& record, std::string const& to_file = "trace.json") {
  detail::write_text_file(to_file, chrome_trace(record), "write_chrome_trace");
}

}  // namespace stagecraft
