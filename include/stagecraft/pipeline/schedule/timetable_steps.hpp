// SPDX-License-Identifier: BSD-3-Clause
// What one device does in one slot of a pipeline's timetable.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/pipeline/schedule/pass_kind.hpp>
#include <cstddef>

namespace stagecraft {

/// One entry of a timetable. A weight update belongs to no pass, stage or micro-batch: -1.
struct timetable_step {
  pass_kind kind = pass_kind::weight_update;
  int pass = -1;
  int stage = -1;
  int micro_batch = -1;

  friend constexpr bool operator==(timetable_step const&, timetable_step const&) = default;
};

}  // namespace stagecraft

namespace stagecraft::pipeline {

/// The steps of one device in one slot, in the order in which it carries them out: infeed, backward passes in ascending
/// order of stages, forward passes likewise, what is recomputed for the next slot, what is sent to other devices,
/// outfeed. What belongs to a backward pass is recomputed right before it. Steps are found one by one; nothing is
/// stored. A view: the timetable outlives it.
///
///     for (auto const& step : timetable.steps(slot, device)) ...
template <class Timetable>
class timetable_steps {
 public:
  constexpr timetable_steps(Timetable const& timetable, int slot, int device)
      : timetable_(&timetable), slot_(slot), first_stage_(timetable.first_stage_on(device)) {}

  class iterator {
   public:
    using value_type = timetable_step;
    using difference_type = std::ptrdiff_t;

    constexpr iterator() = default;
    /// The first step of a device that has stages.
    constexpr explicit iterator(timetable_steps const& steps)
        : timetable_(steps.timetable_), slot_(steps.slot_), first_stage_(steps.first_stage_), stage_(first_stage_) {
      part_ = first_part;
      if (!finds_step()) ++*this;
    }
    constexpr timetable_step const& operator*() const { return step_; }
    constexpr timetable_step const* operator->() const { return &step_; }
    constexpr iterator& operator++() {
      do go_on();
      while (part_ != no_part && !finds_step());
      return *this;
    }
    constexpr iterator operator++(int) {
      auto const before = *this;
      ++*this;
      return before;
    }
    friend constexpr bool operator==(iterator const& a, iterator const& b) {
      return a.part_ == b.part_ && a.stage_ == b.stage_ && a.recomputed_ == b.recomputed_;
    }

   private:
    /// The parts of a slot, in order; each goes through the device's stages.
    enum part : unsigned char {
      first_part,
      backward,
      forward,
      recompute,
      send_backward,
      send_forward,
      outfeed,
      update,
      no_part
    };

    constexpr void go_on() {
      if (part_ == backward && !recomputed_) {
        recomputed_ = true;
        return;
      }
      recomputed_ = false;
      stage_ = timetable_->next_stage_on_device(stage_);
      if (stage_ < timetable_->stages()) return;
      part_ = static_cast<part>(part_ + 1);
      stage_ = part_ == no_part ? 0 : first_stage_;
    }
    constexpr bool finds_step() {
      auto const& table = *timetable_;
      int const last = table.stages() - 1;
      switch (part_) {
        case first_part: return stage_ == 0 && finds(pass_kind::infeed, stage_, table.infed_at(slot_));
        case backward:
          if (recomputed_) return finds_backward(pass_kind::backward);
          return !table.recomputes_ahead(stage_) && finds_recomputation();
        case forward: return finds_pass(pass_kind::forward, stage_);
        case recompute: return table.recomputes_ahead(stage_) && finds_recomputation();
        case send_backward: return table.sends(table.backward_pass(stage_)) && finds_backward(pass_kind::send);
        case send_forward: return table.sends(stage_) && finds_pass(pass_kind::send, stage_);
        case outfeed: return stage_ == last && finds(pass_kind::outfeed, stage_, table.outfed_at(slot_));
        default: step_ = {}; return slot_ == table.slots() && table.trains() && stage_ == first_stage_;
      }
    }
    constexpr bool finds_backward(pass_kind kind) {
      return timetable_->trains() && finds_pass(kind, timetable_->backward_pass(stage_));
    }
    constexpr bool finds_pass(pass_kind kind, int pass) {
      return finds(kind, pass, timetable_->micro_batch_at(pass, slot_));
    }
    constexpr bool finds_recomputation() {
      return finds(pass_kind::recompute, timetable_->backward_pass(stage_), timetable_->recomputed_at(stage_, slot_));
    }
    constexpr bool finds(pass_kind kind, int pass, int micro_batch) {
      if (micro_batch < 0) return false;
      step_ = {kind, pass, stage_, micro_batch};
      return true;
    }

    Timetable const* timetable_ = nullptr;
    int slot_ = 0;
    int first_stage_ = 0;
    int stage_ = 0;
    part part_ = no_part;
    bool recomputed_ = false;
    timetable_step step_;
  };

  [[nodiscard]] constexpr iterator begin() const {
    return first_stage_ < timetable_->stages() ? iterator(*this) : iterator();
  }
  [[nodiscard]] constexpr iterator end() const { return {}; }
  [[nodiscard]] constexpr bool empty() const { return begin() == end(); }
  [[nodiscard]] constexpr int size() const {
    int count = 0;
    for (auto step = begin(); step != end(); ++step) ++count;
    return count;
  }
  /// Goes through the steps before it.
  [[nodiscard]] constexpr timetable_step operator[](int index) const {
    auto step = begin();
    for (; index > 0; --index) ++step;
    return *step;
  }

 private:
  Timetable const* timetable_;
  int slot_;
  int first_stage_;
};

}  // namespace stagecraft::pipeline
