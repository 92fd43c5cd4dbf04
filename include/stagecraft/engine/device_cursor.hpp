// SPDX-License-Identifier: BSD-3-Clause
// Goes through what one device does, in the order of a timetable.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/pipeline/schedule/timetable.hpp>

namespace stagecraft::engine {

/// The passes of a device, slot after slot, in the order of the timetable's steps. The timetable outlives it.
class device_cursor {
 public:
  device_cursor() = default;
  constexpr device_cursor(timetable const& table, int device)
      : table_(&table), device_(device), slots_(table.first_stage_on(device) < table.stages() ? table.slots() : 0) {
    if (!at_end()) find();
  }

  [[nodiscard]] constexpr bool at_end() const { return slot_ >= slots_; }
  [[nodiscard]] constexpr int slot() const { return slot_; }
  [[nodiscard]] constexpr int pass() const { return step_->pass; }
  [[nodiscard]] constexpr int micro_batch() const { return step_->micro_batch; }

  constexpr void advance() {
    if (++step_ != passes::iterator()) return;
    ++slot_;
    find();
  }

 private:
  using passes = pipeline::timetable_steps<timetable, pipeline::steps_of_slot::passes>;

  /// The first pass from this slot on.
  constexpr void find() {
    for (; !at_end(); ++slot_)
      if (step_ = passes(*table_, slot_, device_).begin(); step_ != passes::iterator()) return;
  }

  timetable const* table_ = nullptr;
  int device_ = 0;
  int slots_ = 0;
  int slot_ = 0;
  passes::iterator step_;
};

}  // namespace stagecraft::engine
