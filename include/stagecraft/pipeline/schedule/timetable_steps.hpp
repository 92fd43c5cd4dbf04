// SPDX-License-Identifier: BSD-3-Clause
// The work of one device in one slot of a pipeline's timetable, and the number of micro-batches in flight if each
// device does one thing at a time.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/pipeline/schedule/schedule.hpp>
#include <cstddef>

namespace stagecraft::pipeline {

/// A micro-batch goes through passes in `length` places, one place per slot, on the devices of a list. In a block of
/// `length` slots that is repeated, a second one may start `offset` slots later if the list and the list rotated by
/// `offset` never have the same device at the same place. Rotations are chosen greedily, from offset 0 up, as
/// Graphcore's compiler does: its overlap length of an interleaved pipeline is `count`.
///
///     devices 0 1 2 2 1 0: offsets 0, 2, 4      devices 0 1 0: offset 0      devices 0 0 1 1: offsets 0, 2
class rotations {
 public:
  static constexpr int capacity = 128;  ///< the most passes

  constexpr rotations() = default;
  /// Passes in a place of their own each, or several in one.
  constexpr rotations(tracing::array_view<int const> device_of_pass, tracing::array_view<int const> place_of_pass,
                      int micro_batches)
      : length_(place_of_pass[place_of_pass.size() - 1] + 1) {
    bool collides[capacity]{};
    for (std::size_t pass = 1; pass < device_of_pass.size(); ++pass)
      for (std::size_t before = 0; before < pass; ++before) {
        int const shift = place_of_pass[pass] - place_of_pass[before];
        if (shift > 0 && device_of_pass[pass] == device_of_pass[before])
          collides[shift] = collides[length_ - shift] = true;
      }
    for (int offset = 0; offset < length_; ++offset) {
      bool fits = true;
      for (int k = 0; k < count_ && fits; ++k) fits = !collides[offset - offsets_[k]];
      if (!fits) continue;
      offsets_[count_++] = static_cast<unsigned char>(offset);
      number_at_[offset] = static_cast<unsigned char>(count_);
    }
    find_least_spans(micro_batches);
  }

  [[nodiscard]] constexpr int count() const { return count_; }
  /// The slot of a micro-batch's first pass.
  [[nodiscard]] constexpr int start(int micro_batch) const {
    return micro_batch / count_ * length_ + offsets_[micro_batch % count_];
  }
  /// The micro-batch that starts in a slot, -1 if none does.
  [[nodiscard]] constexpr int started_in(int slot) const {
    int const number = number_at_[slot % length_];
    return number == 0 ? -1 : slot / length_ * count_ + number - 1;
  }
  /// The most micro-batches that start within a number of slots, up to `length`.
  [[nodiscard]] constexpr int most_started_in(int slots) const {
    int most = 1;
    while (most < count_ && least_span_[most] < slots) ++most;
    return most;
  }

 private:
  /// All starts are alike from one block to the next, so that those of one block are looked at.
  constexpr void find_least_spans(int micro_batches) {
    for (int distance = 1; distance < count_; ++distance) {
      int least = length_;
      for (int last = distance; last < micro_batches && last < distance + count_; ++last)
        if (int const span = start(last) - start(last - distance); span < least) least = span;
      least_span_[distance] = static_cast<unsigned char>(least);
    }
  }

  int length_ = 1;
  int count_ = 0;
  unsigned char offsets_[capacity / 2]{};     // each rotation has devices of its own, so that half as many fit
  unsigned char number_at_[capacity]{};       // of the rotation with an offset, from 1; 0: there is none
  unsigned char least_span_[capacity / 2]{};  // from a start to the start `index` places later
};

}  // namespace stagecraft::pipeline

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

/// A part of a slot: a device goes through its stages in ascending order, and carries out what each has of this kind.
struct slot_part {
  pass_kind kind;
  bool is_backward = false;  ///< true: the backward pass of a stage; false: its forward pass
};
/// The parts of a slot, in the order in which a device carries them out. The timetable's rings, its steps and the
/// engine follow from it.
inline constexpr slot_part slot_order[]{
    {pass_kind::infeed},          {pass_kind::backward, true}, {pass_kind::forward},
    {pass_kind::recompute, true},  // for the next slot; what belongs to this one, right before the backward pass
    {pass_kind::send, true},      {pass_kind::send},           {pass_kind::outfeed},
    {pass_kind::weight_update},
};

/// The place in a slot's order of what is of a kind.
constexpr int place_in_slot(pass_kind kind) {
  int place = 0;
  while (slot_order[place].kind != kind) ++place;
  return place;
}

enum class steps_of_slot : unsigned char { all, passes };

/// The steps of one device in one slot, in the order in which it carries them out: `slot_order`; or only its passes,
/// forward and backward. Steps are found one by one; nothing is stored. A view: the timetable outlives it.
///
///     for (auto const& step : timetable.steps(slot, device)) ...
template <class Timetable, steps_of_slot Which = steps_of_slot::all>
class timetable_steps {
  static constexpr bool passes_alone = Which == steps_of_slot::passes;
  static constexpr int parts = static_cast<int>(sizeof(slot_order) / sizeof(slot_order[0]));

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
        : timetable_(steps.timetable_), slot_(steps.slot_), first_stage_(steps.first_stage_) {
      begin_part(0);
      if (!finds_step()) ++*this;
    }
    constexpr timetable_step const& operator*() const { return step_; }
    constexpr timetable_step const* operator->() const { return &step_; }
    constexpr iterator& operator++() {
      do go_on();
      while (part_ != parts && !finds_step());
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
    /// The first part from this one on that is asked for.
    constexpr void begin_part(int part) {
      auto const is_left_out = [](slot_part const& one) {
        return passes_alone && one.kind != pass_kind::forward && one.kind != pass_kind::backward;
      };
      while (part != parts && is_left_out(slot_order[part])) ++part;
      part_ = part;
      stage_ = part == parts ? 0 : first_stage_;
    }
    constexpr void go_on() {
      if (!passes_alone && slot_order[part_].kind == pass_kind::backward && !recomputed_) {
        recomputed_ = true;
        return;
      }
      recomputed_ = false;
      stage_ = timetable_->next_stage_on_device(stage_);
      if (stage_ == timetable_->stages()) begin_part(part_ + 1);
    }
    constexpr bool finds_step() {
      auto const& table = *timetable_;
      auto const [kind, is_backward] = slot_order[part_];
      if constexpr (passes_alone) return finds_pass(kind, is_backward);
      switch (kind) {
        case pass_kind::infeed: return stage_ == 0 && finds(kind, stage_, table.infed_at(slot_));
        case pass_kind::backward:
          if (!recomputed_) return !table.recomputes_ahead(stage_) && finds_recomputation();
          return finds_pass(kind, is_backward);
        case pass_kind::forward: return finds_pass(kind, is_backward);
        case pass_kind::recompute: return table.recomputes_ahead(stage_) && finds_recomputation();
        case pass_kind::send: return table.sends(pass(is_backward)) && finds_pass(kind, is_backward);
        case pass_kind::outfeed: return stage_ == table.stages() - 1 && finds(kind, stage_, table.outfed_at(slot_));
        case pass_kind::weight_update:
          step_ = {};
          return slot_ == table.slots() && table.trains() && stage_ == first_stage_;
      }
      return false;
    }
    [[nodiscard]] constexpr int pass(bool is_backward) const {
      return is_backward ? timetable_->backward_pass(stage_) : timetable_->forward_pass(stage_);
    }
    constexpr bool finds_pass(pass_kind kind, bool is_backward) {
      if (is_backward && !timetable_->trains()) return false;
      return finds(kind, pass(is_backward), timetable_->micro_batch_at(pass(is_backward), slot_));
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
    int part_ = parts;
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
