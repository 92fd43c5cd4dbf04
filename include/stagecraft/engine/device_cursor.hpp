// SPDX-License-Identifier: BSD-3-Clause
// Goes through what one device does, in the order of a timetable.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/pipeline/schedule/timetable.hpp>

namespace stagecraft::engine {

/// The passes of a device: slot after slot, in each backward passes first, then forward passes, each in ascending order
/// of stages. The timetable outlives it.
class device_cursor {
 public:
  device_cursor() = default;
  device_cursor(timetable const& table, int device) : table_(&table), device_(device), slots_(table.slots()) {
    begin_slot();
    find();
  }

  [[nodiscard]] bool at_end() const { return slot_ >= slots_; }
  [[nodiscard]] int slot() const { return slot_; }
  [[nodiscard]] int pass() const { return backward_ ? table_->backward_pass(stage_) : table_->forward_pass(stage_); }
  [[nodiscard]] int micro_batch() const { return micro_batch_; }

  void advance() {
    stage_ = table_->next_stage_on_device(stage_);
    find();
  }

 private:
  void begin_slot() {
    backward_ = table_->trains();
    stage_ = table_->first_stage_on(device_);
    if (stage_ == table_->stages()) slot_ = slots_;  // it has no stage
  }
  /// From here to the next pass that has a micro-batch.
  void find() {
    while (!at_end()) {
      if (stage_ == table_->stages()) {
        if (backward_) {
          backward_ = false;
          stage_ = table_->first_stage_on(device_);
        } else {
          ++slot_;
          begin_slot();
        }
        continue;
      }
      micro_batch_ = table_->micro_batch_at(pass(), slot_);
      if (micro_batch_ >= 0) return;
      stage_ = table_->next_stage_on_device(stage_);
    }
  }

  timetable const* table_ = nullptr;
  int device_ = 0;
  int slots_ = 0;
  int slot_ = 0;
  int stage_ = 0;
  int micro_batch_ = -1;
  bool backward_ = false;
};

}  // namespace stagecraft::engine
