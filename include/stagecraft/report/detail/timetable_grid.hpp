// SPDX-License-Identifier: BSD-3-Clause
// A timetable cut into the cells that pictures of it show, and the options of these pictures.
#pragma once

#include <stagecraft/pipeline/schedule/timetable.hpp>
#include <stagecraft/report/detail/text_writer.hpp>
#include <cstddef>
#include <string>
#include <vector>

namespace stagecraft {

/// Options of `timetable_text`, `timetable_svg` and `plot_timetable`.
struct timetable_picture_options {
  /// The title above the picture; empty: the schedule.
  std::string title = {};
  /// The most slots that are shown; a longer timetable shows as many of the first as of the last ones. 0: all.
  int max_slots = 64;
};

}  // namespace stagecraft

namespace stagecraft::reports {

/// The phase of a pipeline that a slot belongs to.
enum class timetable_phase : unsigned char { ramp_up, steady, ramp_down, update };

[[nodiscard]] constexpr timetable_phase phase_of(timetable const& table, int slot) {
  if (slot >= table.slots()) return timetable_phase::update;
  if (slot < table.ramp_up_slots()) return timetable_phase::ramp_up;
  return slot < table.slots() - table.ramp_down_slots() ? timetable_phase::steady : timetable_phase::ramp_down;
}

/// "ramp-up". The update needs no name of its own: its cells have one.
[[nodiscard]] constexpr char const* phase_name(timetable_phase phase) {
  switch (phase) {
    case timetable_phase::ramp_up: return "ramp-up";
    case timetable_phase::steady: return "steady";
    case timetable_phase::ramp_down: return "ramp-down";
    default: return "";
  }
}

/// One activity of a device in a slot. It takes the part from `begin` to `end` of the slot's width.
struct timetable_cell {
  std::string label;  ///< "F3": forward of micro-batch 3; "F3.1": in stage 1, where the device has several
  timetable_step step;
  double begin = 0, end = 1;

  /// True for a transfer from or to the host beside the passes.
  [[nodiscard]] bool moves() const { return step.kind == pass_kind::infeed || step.kind == pass_kind::outfeed; }
};

/// A slot that is shown, or, with `slot` -1, `hidden` slots that are not.
struct timetable_column {
  int slot = 0;
  int hidden = 0;
};

/// The cells of a timetable: recomputation, backward and forward passes, and the weight update in a slot after them;
/// also transfers from and to the host where these have slots of their own.
class timetable_grid {
 public:
  timetable_grid(timetable const& table, timetable_picture_options const& options) : table_(table) {
    int const slots = this->slots(), shown = options.max_slots;
    if (shown <= 0 || slots <= shown) {
      for (int slot = 0; slot < slots; ++slot) columns_.push_back({slot});
    } else {
      int const first = (shown + 1) / 2, last = shown - first;
      for (int slot = 0; slot < first; ++slot) columns_.push_back({slot});
      columns_.push_back({-1, slots - shown});
      for (int slot = slots - last; slot < slots; ++slot) columns_.push_back({slot});
    }
    for (auto const& column : columns_)
      for (int device = 0; column.slot >= 0 && device < table.devices(); ++device) {
        int count = 0;
        for (auto const& cell : cells(column.slot, device)) count += cell.moves() ? 0 : 1;
        if (count > 0 && parts(column.slot, device, count) > most_parts_)
          most_parts_ = parts(column.slot, device, count);
      }
  }

  [[nodiscard]] timetable const& table() const { return table_; }
  /// The number of slots, that of the weight update included.
  [[nodiscard]] int slots() const { return table_.slots() + (table_.trains() ? 1 : 0); }
  [[nodiscard]] std::vector<timetable_column> const& columns() const { return columns_; }
  /// The phase of a column; where slots are left out, that of the slot in their middle.
  [[nodiscard]] timetable_phase phase(std::size_t column) const {
    auto const& own = columns_[column];
    return phase_of(table_, own.slot >= 0 ? own.slot : columns_[column - 1].slot + (own.hidden + 1) / 2);
  }
  /// The parts of a slot's width that are as wide as its narrowest cell.
  [[nodiscard]] int most_parts() const { return most_parts_; }

  [[nodiscard]] std::vector<timetable_cell> cells(int slot, int device) const {
    std::vector<timetable_cell> result;
    for (auto const& step : table_.steps(slot, device))
      if (is_shown(step.kind)) result.push_back({label(step, device), step});
    int count = 0, number = 0;
    for (auto const& cell : result) count += cell.moves() ? 0 : 1;
    for (auto& cell : result) {
      if (cell.moves()) {
        cell.begin = cell.step.kind == pass_kind::infeed ? 0.0 : 0.5;
        cell.end = cell.begin + 0.5;
        continue;
      }
      int const all = parts(slot, device, count), place = all == count ? number : place_of(cell.step, device);
      cell.begin = static_cast<double>(place) / all;
      cell.end = static_cast<double>(place + 1) / all;
      ++number;
    }
    return result;
  }

  /// "stage 0", "stages 0, 2".
  [[nodiscard]] std::string stages_of(int device) const {
    text_writer text;
    int const count = stage_count(device);
    if (count == 0) return "no stage";
    text << (count == 1 ? "stage " : "stages ");
    int written = 0;
    for (int stage = 0; stage < table_.stages(); ++stage)
      if (table_.device_of_stage(stage) == device) text << (written++ > 0 ? ", " : "") << stage;
    return text.take();
  }

  /// "4 stages on 4 devices, training, 8 micro-batches".
  [[nodiscard]] std::string description() const {
    text_writer text;
    count(text, table_.stages(), "stage");
    text << " on ";
    count(text, table_.devices(), "device");
    text << (table_.trains() ? ", training, " : ", inference, ");
    count(text, table_.micro_batches(), "micro-batch", "es");
    if (table_.overlaps_io()) text << ", overlapped input and output";
    return text.take();
  }
  /// "15 slots, bubble 46.7 %".
  [[nodiscard]] std::string cost() const {
    text_writer text;
    count(text, table_.slots(), "slot");
    text << ", bubble " << 100 * table_.bubble() << " %";
    return text.take();
  }
  /// "Grouped schedule".
  [[nodiscard]] std::string title(timetable_picture_options const& options) const {
    if (!options.title.empty()) return options.title;
    auto text = std::string(name(table_.schedule())) + " schedule";
    text[0] = static_cast<char>(text[0] - 'a' + 'A');
    return text;
  }
  /// True if there are cells of this kind.
  [[nodiscard]] bool shows(pass_kind kind) const {
    switch (kind) {
      case pass_kind::backward:
      case pass_kind::weight_update: return table_.trains();
      case pass_kind::recompute: return table_.recomputes(0);
      default: return is_shown(kind);
    }
  }
  /// True if a device has several stages, which the labels of its cells then name.
  [[nodiscard]] bool names_stages() const {
    for (int device = 0; device < table_.devices(); ++device)
      if (stage_count(device) > 1) return true;
    return false;
  }

 private:
  [[nodiscard]] bool is_shown(pass_kind kind) const {
    switch (kind) {
      case pass_kind::infeed:
      case pass_kind::outfeed: return table_.overlaps_io();
      default: return kind != pass_kind::send;
    }
  }
  static void count(text_writer& text, int number, char const* noun, char const* plural = "s") {
    text << number << ' ' << noun << (number == 1 ? "" : plural);
  }
  [[nodiscard]] int stage_count(int device) const {
    int number = 0;
    for (int stage = 0; stage < table_.stages(); ++stage) number += table_.device_of_stage(stage) == device ? 1 : 0;
    return number;
  }
  [[nodiscard]] std::string label(timetable_step const& step, int device) const {
    text_writer text;
    switch (step.kind) {
      case pass_kind::weight_update: return "U";
      case pass_kind::infeed: return 'I' + std::to_string(step.micro_batch);
      case pass_kind::outfeed: return 'O' + std::to_string(step.micro_batch);
      case pass_kind::recompute: text << 'R'; break;
      case pass_kind::backward: text << 'B'; break;
      default: text << 'F'; break;
    }
    text << step.micro_batch;
    if (stage_count(device) > 1) text << '.' << step.stage;
    return text.take();
  }

  /// In the grouped schedule each pass has its place in the slot, also where another one's is empty. In the others, a
  /// pass has the slot to itself.
  [[nodiscard]] int parts(int slot, int device, int count) const {
    if (table_.schedule() != schedule::grouped || slot >= table_.slots()) return count;
    int number = 0;
    for (int stage = 0; stage < table_.stages(); ++stage)
      if (table_.device_of_stage(stage) == device) number += (table_.trains() ? 2 : 1) + (table_.recomputes(0) ? 1 : 0);
    return number;
  }
  [[nodiscard]] int place_of(timetable_step const& step, int device) const {
    int place = 0;
    for (int stage = 0; stage < table_.stages() && table_.trains(); ++stage) {
      if (table_.device_of_stage(stage) != device) continue;
      if (table_.recomputes(stage) && !table_.recomputes_ahead(stage)) {
        if (step.kind == pass_kind::recompute && step.stage == stage) return place;
        ++place;
      }
      if (step.kind == pass_kind::backward && step.stage == stage) return place;
      ++place;
    }
    for (int stage = 0; stage < table_.stages(); ++stage) {
      if (table_.device_of_stage(stage) != device) continue;
      if (step.kind == pass_kind::forward && step.stage == stage) return place;
      ++place;
    }
    return place;  // recomputation for the next slot comes last
  }

  timetable const& table_;
  std::vector<timetable_column> columns_;
  int most_parts_ = 1;
};

}  // namespace stagecraft::reports
