// SPDX-License-Identifier: BSD-3-Clause
// Tables of text with aligned columns, and the facts at the begin of reports.
#pragma once

#include <stagecraft/report/detail/text_writer.hpp>
#include <stagecraft/report/profile_data.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stagecraft::reports {

/// A text in which U+FFFD replaces control characters, which a terminal obeys, and bytes that are no character.
[[nodiscard]] inline std::string printable(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    std::size_t const length = character_length(text);
    auto const first = static_cast<unsigned char>(text[0]);
    // U+0080 to U+009F are control characters, too.
    bool const is_control = (length == 1 && (first < 0x20 || first == 0x7f)) ||
                            (length == 2 && first == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0);
    result += length == 0 || is_control ? no_character : text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return result;
}

/// The number of characters of a text: its width on a terminal, as far as they are as wide as Latin ones.
[[nodiscard]] inline std::size_t columns_of(std::string_view text) {
  std::size_t count = 0;
  for (char const c : text) count += (static_cast<unsigned char>(c) & 0xc0U) != 0x80 ? 1 : 0;
  return count;
}

/// A bar of `share` times `width` characters #. A share above 0 has at least one; `is_padded` fills the rest with
/// points.
[[nodiscard]] inline std::string bar(double share, int width, bool is_padded) {
  int length = share > 0 ? static_cast<int>(share * width + 0.5) : 0;
  if (share > 0 && length == 0) length = 1;
  if (length > width) length = width;
  return std::string(static_cast<std::size_t>(length), '#') +
         (is_padded ? std::string(static_cast<std::size_t>(width - length), '.') : "");
}

/// Rows of cells; each column is as wide as its widest cell.
class text_table {
 public:
  /// @param right  whether each column's cells end below each other
  explicit text_table(std::vector<bool> right) : right_(std::move(right)), widths_(right_.size(), 0) {}

  void add(std::vector<std::string> row) {
    row.resize(right_.size());
    for (std::size_t i = 0; i < row.size(); ++i) widths_[i] = std::max(widths_[i], columns_of(row[i]));
    rows_.push_back(std::move(row));
  }
  /// A line below the rows so far.
  void rule() { rows_.push_back({}); }

  [[nodiscard]] std::string text() const {
    std::string result;
    for (auto const& row : rows_) {
      std::string line;
      for (std::size_t i = 0; i < right_.size(); ++i) {
        if (i > 0) line += "  ";
        if (row.empty()) {
          line.append(widths_[i], '-');
          continue;
        }
        auto const space = std::string(widths_[i] - columns_of(row[i]), ' ');
        line += right_[i] ? space + row[i] : row[i] + space;
      }
      while (!line.empty() && line.back() == ' ') line.pop_back();
      result += line + '\n';
    }
    return result;
  }

 private:
  std::vector<bool> right_;
  std::vector<std::size_t> widths_;
  std::vector<std::vector<std::string>> rows_;
};

/// The facts at the begin of a report: names and values.
[[nodiscard]] inline std::vector<std::pair<std::string, std::string>> facts_of(profile_data const& data) {
  auto const& machine = data.machine;
  auto const& totals = data.totals;
  std::string machine_text = machine.name + ", " + counted(machine.ipus_per_replica, "IPU") + " for the model";
  if (machine.replicas != 1) machine_text += ", " + counted(machine.replicas, "replica");
  machine_text += "; " + counted(machine.tiles_per_ipu, "tile") + " of " + bytes_text(machine.bytes_per_tile);
  if (machine.io_tiles > 0) machine_text += ", " + grouped_digits(machine.io_tiles) + " of them for input and output";
  machine_text += "; " + count_text(static_cast<double>(machine.tile_clock_frequency), "Hz");
  std::string mode = data.trains ? "training" : "inference";
  if (data.stages() > 1) {
    mode += ", " + counted(data.stages(), "stage") + ", " + std::string(name(data.schedule)) + " schedule";
    if (data.batch_serialization > 1) mode += ", batch serialization " + std::to_string(data.batch_serialization);
  }
  if (data.recomputation_mode != recomputation_mode::none) mode += ", recomputation";
  if (data.overlaps_io) mode += ", overlapped input and output";
  auto batch = counted(data.effective_batch_size(), "sample");
  if (data.micro_batches != 1 || machine.replicas != 1)
    batch += " (" + counted(data.micro_batches, "micro-batch", "es") + " of " + grouped_digits(data.batch_size) +
             (machine.replicas != 1 ? " on each of " + counted(machine.replicas, "replica") : "") + ")";
  std::int64_t most = 0;
  for (auto const& ipu : data.ipus) most = std::max(most, ipu.most_bytes());
  auto const memory = bytes_text(most) + " of " + bytes_text(machine.bytes_per_tile) + " on the fullest tile, " +
                      percent_text(share_of(most, machine.bytes_per_tile)) +
                      (data.fits() ? ": fits" : ": DOES NOT FIT");
  return {
      {"machine", machine_text},
      {"program", mode + ", " + data.dtype_policy},
      {data.trains ? "batch per update" : "batch", batch},
      {data.trains ? "time per update" : "time",
       seconds_text(totals.seconds_per_update) + ", " + counted(totals.cycles_per_update, "cycle")},
      {"throughput", rate_text(totals.samples_per_second) + " samples/s"},
      {"latency", seconds_text(totals.latency_seconds) + ", " + counted(totals.latency_cycles, "cycle")},
      {"bubble", percent_text(totals.bubble)},
      {"exchange and sync", percent_text(totals.exchange_share)},
      {"work", count_text(static_cast<double>(totals.flops)) + " flop, " +
                   count_text(totals.flops_per_second, "FLOP/s") + ", utilisation " + percent_text(totals.utilisation)},
      {"memory", memory}};
}

}  // namespace stagecraft::reports
