// SPDX-License-Identifier: BSD-3-Clause
// A trace of a real run in the format of Chrome's trace viewer: chrome://tracing and ui.perfetto.dev show it.
// Definition: Google's "Trace Event Format". Level 7.
#pragma once

#include <stagecraft/execution/trace.hpp>
#include <stagecraft/report/detail/text_file.hpp>
#include <stagecraft/report/detail/text_writer.hpp>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft {

namespace detail {

/// Writes trace events, one per line.
class chrome_trace_writer {
 public:
  explicit chrome_trace_writer(trace const& record) : events_(record.events()), dropped_(record.dropped()) {}

  [[nodiscard]] std::string write() {
    text_ << "{\"displayTimeUnit\": \"ns\", \"otherData\": {\"dropped\": " << static_cast<long long>(dropped_)
          << "}, \"traceEvents\": [";
    std::vector<std::pair<int, int>> rows;
    for (auto const& event : events_) {
      name_row(event, rows);
      write_event(event);
    }
    text_ << "\n]}\n";
    return text_.take();
  }

 private:
  /// A process per replica, a thread per device. The first event of each tells their names.
  void name_row(trace_event const& event, std::vector<std::pair<int, int>>& rows) {
    bool replica_known = false;
    for (auto const& [replica, device] : rows) {
      replica_known = replica_known || replica == event.replica;
      if (replica == event.replica && device == event.device) return;
    }
    rows.push_back({event.replica, event.device});
    if (!replica_known) name("process_name", event, "replica " + std::to_string(event.replica));
    name("thread_name", event, event.device < 0 ? "host" : "device " + std::to_string(event.device));
    begin(event, "thread_sort_index", "M") << ", \"args\": {\"sort_index\": " << row_of(event) << "}}";
  }
  void name(char const* what, trace_event const& event, std::string const& value) {
    begin(event, what, "M") << ", \"args\": {\"name\": ";
    text_.quoted(value) << "}}";
  }

  void write_event(trace_event const& event) {
    begin(event, label(event), "X") << ", \"cat\": ";
    text_.quoted(to_string(event.kind)) << ", \"ts\": ";
    microseconds(event.begin_ns - events_.front().begin_ns) << ", \"dur\": ";
    microseconds(event.end_ns - event.begin_ns) << ", \"args\": {";
    if (event.stage >= 0) text_ << "\"stage\": " << event.stage << ", ";
    if (event.micro_batch >= 0) text_ << "\"micro_batch\": " << event.micro_batch << ", ";
    text_ << "\"worker\": " << event.worker << "}}";
  }

  text_writer& begin(trace_event const& event, std::string const& name, char const* phase) {
    text_ << (first_ ? "\n" : ",\n") << "{\"name\": ";
    first_ = false;
    return text_.quoted(name) << ", \"ph\": \"" << phase << "\", \"pid\": " << event.replica
                              << ", \"tid\": " << row_of(event);
  }
  /// The host's row is the first one.
  static int row_of(trace_event const& event) { return event.device + 1; }

  /// As in a timetable, so that the viewer gives each micro-batch's passes colours of their own.
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

  /// The format's unit, with the nanoseconds behind the point.
  text_writer& microseconds(std::int64_t nanoseconds) {
    if (nanoseconds < 0) nanoseconds = 0;
    auto const rest = nanoseconds % 1000;
    return text_ << static_cast<long long>(nanoseconds / 1000) << '.' << static_cast<int>(rest / 100)
                 << static_cast<int>(rest / 10 % 10) << static_cast<int>(rest % 10);
  }

  std::vector<trace_event> events_;
  std::size_t dropped_;
  text_writer text_;
  bool first_ = true;
};

}  // namespace detail

/// What was recorded, as JSON for Chrome's trace viewer: a process per replica, a row per device, and an event per
/// pass, named as in a timetable (F3, B3, U), with its stage, micro-batch and thread. Time begins with the first event.
[[nodiscard]] inline std::string chrome_trace(trace const& record) {
  return detail::chrome_trace_writer(record).write();
}

/// Writes it to a file. Throws file_error E5050 if that is not possible.
inline void write_chrome_trace(trace const& record, std::string const& to_file = "trace.json") {
  detail::write_text_file(to_file, chrome_trace(record), "write_chrome_trace");
}

}  // namespace stagecraft
