// SPDX-License-Identifier: BSD-3-Clause
// What traces in the format of Chrome's trace viewer have in common. Definition: Google's "Trace Event Format".
#pragma once

#include <stagecraft/report/detail/text_writer.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace stagecraft::reports {

/// Writes events, one per line, each in a row (`tid`) of a process (`pid`).
class trace_writer {
 public:
  /// Begins a trace. `about` are the members of an object: what else there is to say.
  explicit trace_writer(std::string_view about) {
    text_ << "{\"displayTimeUnit\": \"ns\", \"otherData\": {" << about << "}, \"traceEvents\": [";
  }

  void name_process(int process, int row, std::string_view name) { this->name("process_name", process, row, name); }
  /// Rows stand in the order of their numbers.
  void name_row(int process, int row, std::string_view name) {
    this->name("thread_name", process, row, name);
    begin(process, row, "thread_sort_index", "M") << ", \"args\": {\"sort_index\": " << row << "}}";
  }

  /// An event without its end: `, "args": {...}}` follows.
  text_writer& event(int process, int row, std::string_view name, std::string_view category, std::int64_t begin_ps,
                     std::int64_t duration_ps) {
    begin(process, row, name, "X") << ", \"cat\": ";
    text_.quoted(category) << ", \"ts\": ";
    microseconds(begin_ps);
    text_ << ", \"dur\": ";
    microseconds(duration_ps);
    return text_;
  }

  [[nodiscard]] std::string end() {
    text_ << "\n]}\n";
    return text_.take();
  }

 private:
  void name(char const* what, int process, int row, std::string_view value) {
    begin(process, row, what, "M") << ", \"args\": {\"name\": ";
    text_.quoted(value) << "}}";
  }
  text_writer& begin(int process, int row, std::string_view name, char const* phase) {
    text_ << (first_ ? "\n" : ",\n") << "{\"name\": ";
    first_ = false;
    return text_.quoted(name) << ", \"ph\": \"" << phase << "\", \"pid\": " << process << ", \"tid\": " << row;
  }
  /// The format's unit. Behind the point are the nanoseconds, and picoseconds if there are any.
  void microseconds(std::int64_t picoseconds) {
    if (picoseconds < 0) picoseconds = 0;
    text_ << static_cast<long long>(picoseconds / 1'000'000) << '.';
    auto const rest = picoseconds % 1'000'000;
    int const digits = rest % 1000 == 0 ? 3 : 6;
    std::int64_t place = 100'000;
    for (int i = 0; i < digits; ++i, place /= 10) text_ << static_cast<int>(rest / place % 10);
  }

  text_writer text_;
  bool first_ = true;
};

}  // namespace stagecraft::reports
