// SPDX-License-Identifier: BSD-3-Clause
// The numbers of all plans as JSON, for the page and for programs that compare plans. Needs no other library.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/report/detail/text_writer.hpp>
#include <stagecraft/report/plan_data.hpp>
#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft::reports {

/// Writes the JSON of plans.
class plan_json_writer {
 public:
  explicit plan_json_writer(plan_data const& data) : data_(data) {}

  [[nodiscard]] std::string write() {
    text_ << "{\"format\": \"stagecraft plan\", \"version\": 1, \"model\": ";
    text_.quoted(data_.model) << ", \"trains\": " << (data_.trains ? "true" : "false") << ", \"best\": " << data_.best()
                              << ",\n \"entry_of\": ";
    list(data_.entry_of);
    text_ << ",\n \"entries\": [";
    for (std::size_t i = 0; i < data_.entries.size(); ++i) {
      text_ << (i == 0 ? "\n" : ",\n");
      write_entry(data_.entries[i]);
    }
    text_ << "\n]}\n";
    return text_.take();
  }

 private:
  void whole(std::string_view name, std::int64_t value) {
    text_ << ", \"" << name << "\": " << static_cast<long long>(value);
  }
  /// A number with as many digits as it takes to read the same one. JSON has none that is not finite: null.
  void number(std::string_view name, double value) {
    if (!(value - value == 0)) {
      text_ << ", \"" << name << "\": null";
      return;
    }
    char digits[32];
    auto const end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    text_ << ", \"" << name << "\": " << std::string_view(digits, static_cast<std::size_t>(end - digits));
  }
  template <class T>
  void list(std::vector<T> const& values) {
    text_ << '[';
    for (std::size_t i = 0; i < values.size(); ++i) text_ << (i == 0 ? "" : ", ") << static_cast<long long>(values[i]);
    text_ << ']';
  }

  void write_entry(plan_entry const& entry) {
    auto const& choice = entry.choice;
    text_ << "  {\"combination\": " << entry.combination;
    whole("ipus", choice.ipus);
    whole("stages", choice.stages);
    text_ << ", \"split\": \"" << (choice.is_next_best ? "next best" : "best") << "\", \"schedule\": \""
          << name(choice.schedule) << '"';
    whole("micro_batches", choice.micro_batches);
    whole("replicas", choice.replicas);
    whole("ranks", choice.ranks);
    if (!entry.problem.empty()) {
      text_ << ", \"problem\": ";
      text_.quoted(entry.problem);
    } else {
      write_profile(entry);
    }
    text_ << '}';
  }

  void write_profile(plan_entry const& entry) {
    auto const& totals = entry.profile.totals;
    text_ << ", \"fits\": " << (entry.fits() ? "true" : "false") << ", \"first_layers\": [";
    for (std::size_t i = 0; i < entry.layers_of_stage.size(); ++i) {
      text_ << (i == 0 ? "" : ", ");
      text_.quoted(entry.layers_of_stage[i].first);
    }
    text_ << ']';
    whole("cycles_per_update", totals.cycles_per_update);
    whole("latency_cycles", totals.latency_cycles);
    number("seconds_per_update", entry.seconds_per_update());
    number("samples_per_second", entry.samples_per_second());
    number("latency_seconds", totals.latency_seconds);
    number("bubble", totals.bubble);
    number("exchange_share", totals.exchange_share);
    whole("flops", totals.flops);
    number("utilisation", totals.utilisation);
    text_ << ", \"bytes_of_fullest_tile\": [";
    auto const& ipus = entry.profile.ipus;
    for (std::size_t i = 0; i < ipus.size(); ++i)
      text_ << (i == 0 ? "" : ", ") << static_cast<long long>(ipus[i].most_bytes());
    text_ << "], \"cycles_decided_by_ipu\": ";
    list(entry.bounds.ipus);
    whole("cycles_of_transfers", entry.bounds.transfers);
    whole("cycles_of_syncs", entry.bounds.sync);
    whole("cycles_of_the_update", entry.bounds.update);
    number("network_seconds", entry.network_seconds);
    whole("network_bytes", entry.network_bytes);
    text_ << ", \"bytes_sent_forward\": ";
    list(entry.sent_forward);
    text_ << ", \"bytes_sent_backward\": ";
    list(entry.sent_backward);
  }

  plan_data const& data_;
  text_writer text_;
};

}  // namespace stagecraft::reports

namespace stagecraft {

/// The numbers of plans as JSON: an object with `format` ("stagecraft plan"), `version` (1), `model`, `best`, the entry
/// of each combination, and the entries, each with its choices and the totals of its profile under the names that
/// profile_totals has, or with `problem`. Cycles are those of one rank; seconds and samples are those of all ranks.
[[nodiscard]] inline std::string plan_json(plan_data const& data) { return detail::plan_json_writer(data).write(); }

/// Writes plan_json(data) to a file. Throws file_error E5050 if that is not possible.
inline void write_plan_json(plan_data const& data, std::string const& to_file = "plan.json") {
  detail::write_text_file(to_file, plan_json(data), "write_plan_json");
}

}  // namespace stagecraft

#include <stagecraft/diagnostics/end_headers.hpp>
