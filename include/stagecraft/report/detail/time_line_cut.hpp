// SPDX-License-Identifier: BSD-3-Clause
// The part of a profile's time line that a picture shows.
#pragma once

#include <stagecraft/report/profile_data.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace stagecraft::reports {

/// One or two spans of time, and the slots between them that are not shown.
struct time_line_cut {
  std::vector<profile_span> spans;
  int slots_left_out = 0;

  /// Keeps at most `max_slots` slots, at least three quarters of them at the begin; 0: all.
  time_line_cut(profile_time_line const& line, int max_slots) : slots_left_out(line.slots_left_out) {
    auto gap = line.left_out;
    auto const count = line.slots.size(), shown = static_cast<std::size_t>(std::max(max_slots, 0));
    if (shown > 0 && count > shown) {
      auto const last = std::min<std::size_t>(shown / 4, 6), first = shown - last;
      auto const begin = line.slots[first - 1].end;
      auto const end = last > 0 ? line.slots[count - last].begin : line.cycles;
      bool const none = gap.begin >= gap.end;
      gap = {none ? begin : std::min(gap.begin, begin), none ? end : std::max(gap.end, end)};
      for (auto const& slot : line.slots) slots_left_out += slot.begin >= gap.begin && slot.end <= gap.end ? 1 : 0;
    }
    if (gap.begin >= gap.end) {
      spans = {{0, line.cycles}};
      return;
    }
    if (gap.begin > 0) spans.push_back({0, gap.begin});
    if (gap.end < line.cycles) spans.push_back({gap.end, line.cycles});
  }

  /// The cycles that are shown.
  [[nodiscard]] std::int64_t cycles() const {
    std::int64_t sum = 0;
    for (auto const& span : spans) sum += span.end - span.begin;
    return sum;
  }
  [[nodiscard]] bool is_cut() const { return slots_left_out > 0 || spans.size() > 1; }
};

/// A pass of an IPU over one micro-batch in a slot, or its weight update: neighbouring events of the same pass.
struct time_line_pass {
  pass_kind pass = pass_kind::forward;
  int stage = -1, micro_batch = -1;
  std::int64_t begin = 0, end = 0;
  std::vector<profile_event> events;
};

/// The passes of an IPU, in the order of time.
[[nodiscard]] inline std::vector<time_line_pass> passes_of(profile_time_line const& line, int ipu) {
  std::vector<profile_event> own;
  for (auto const& event : line.events)
    if (event.ipu == ipu && event.end > event.begin) own.push_back(event);
  std::sort(own.begin(), own.end(),
            [](auto const& a, auto const& b) { return a.begin != b.begin ? a.begin < b.begin : a.end < b.end; });
  std::vector<time_line_pass> result;
  for (auto const& event : own) {
    if (event.kind == cycle_kind::idle) continue;
    bool const more = !result.empty() && result.back().pass == event.pass && result.back().stage == event.stage &&
                      result.back().micro_batch == event.micro_batch && result.back().end == event.begin;
    if (!more) result.push_back({event.pass, event.stage, event.micro_batch, event.begin, event.end, {}});
    result.back().end = std::max(result.back().end, event.end);
    result.back().events.push_back(event);
  }
  return result;
}

/// The name of a pass as in a timetable: "F3", "B3", "R3", "U"; "F3.1" for stage 1 of an IPU with several. Transfers
/// are "in 3", "out 3" and "send 3".
[[nodiscard]] inline std::string pass_label(pass_kind pass, int stage, int micro_batch, bool names_stage) {
  auto const number = micro_batch < 0 ? std::string() : std::to_string(micro_batch);
  auto const behind = names_stage && stage >= 0 ? "." + std::to_string(stage) : std::string();
  auto const moved = (number.empty() ? "" : " ") + number;
  switch (pass) {
    case pass_kind::forward: return "F" + number + behind;
    case pass_kind::backward: return "B" + number + behind;
    case pass_kind::recompute: return "R" + number + behind;
    case pass_kind::weight_update: return "U";
    case pass_kind::infeed: return "in" + moved;
    case pass_kind::outfeed: return "out" + moved;
    case pass_kind::send: return "send" + moved;
  }
  return {};
}

/// True if an IPU has several stages, which labels then name.
[[nodiscard]] inline bool has_several_stages(profile_data const& data, int ipu) {
  return std::count(data.device_of_stage.begin(), data.device_of_stage.end(), ipu) > 1;
}

/// "stage 0", "stages 0, 2".
[[nodiscard]] inline std::string stages_text(profile_data const& data, int ipu) {
  std::string text;
  int count = 0;
  for (int stage = 0; stage < data.stages(); ++stage)
    if (data.device_of_stage[stage] == ipu) text += (count++ > 0 ? ", " : "") + std::to_string(stage);
  return count == 0 ? "no stage" : (count == 1 ? "stage " : "stages ") + text;
}

}  // namespace stagecraft::reports
