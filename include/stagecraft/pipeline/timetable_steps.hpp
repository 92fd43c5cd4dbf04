// SPDX-License-Identifier: BSD-3-Clause
// What one device does in one slot of a pipeline's timetable. Level 3.
#pragma once

#include <stagecraft/pipeline/pass_kind.hpp>
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

/// The steps of one device in one slot, in the order in which it carries them out: infeed, backward passes in ascending
/// order of stages, each after its recomputation, forward passes likewise, what is sent to other devices, outfeed. They
/// are found one by one; nothing is stored. A view: the timetable outlives it.
///
///     for (auto const& step : timetable.steps(slot, device)) ...
template <class Timetable>
class timetable_steps {
 public:
  constexpr timetable_steps(Timetable const& timetable, int slot, int device)
      : timetable_(&timetable), slot_(slot), device_(device) {}

  class iterator {
   public:
    using value_type = timetable_step;
    using difference_type = std::ptrdiff_t;

    constexpr iterator() = default;
    constexpr iterator(timetable_steps const& steps, int place) : steps_(steps), place_(place) { skip(); }
    constexpr timetable_step operator*() const { return step_; }
    constexpr timetable_step const* operator->() const { return &step_; }
    constexpr iterator& operator++() {
      ++place_;
      skip();
      return *this;
    }
    constexpr iterator operator++(int) {
      auto const before = *this;
      ++*this;
      return before;
    }
    friend constexpr bool operator==(iterator const& a, iterator const& b) { return a.place_ == b.place_; }

   private:
    constexpr void skip() {
      for (; place_ < steps_.places(); ++place_)
        if (steps_.find(place_, step_)) return;
    }

    timetable_steps steps_;
    int place_ = 0;
    timetable_step step_;
  };

  [[nodiscard]] constexpr iterator begin() const { return {*this, 0}; }
  [[nodiscard]] constexpr iterator end() const { return {*this, places()}; }
  [[nodiscard]] constexpr bool empty() const { return begin() == end(); }
  [[nodiscard]] constexpr int size() const {
    int count = 0;
    for (auto step = begin(); step != end(); ++step) ++count;
    return count;
  }
  /// Takes time in proportion to the number of stages.
  [[nodiscard]] constexpr timetable_step operator[](int index) const {
    auto step = begin();
    for (; index > 0; --index) ++step;
    return *step;
  }

 private:
  constexpr timetable_steps() = default;

  /// Places that a step can have in a slot: infeed; recompute, backward of each stage; forward; send of each stage's
  /// backward, then forward pass; outfeed; weight update.
  [[nodiscard]] constexpr int places() const { return timetable_ == nullptr ? 0 : 5 * timetable_->stages() + 3; }

  /// The step at a place, if there is one.
  [[nodiscard]] constexpr bool find(int place, timetable_step& step) const {
    auto const& table = *timetable_;
    int const stages = table.stages(), last = stages - 1;
    if (place == 0) return find_pass(pass_kind::infeed, 0, step);
    if (--place < 2 * stages)
      return place % 2 == 0 ? table.recomputes(place / 2) && find_backward(pass_kind::recompute, place / 2, step)
                            : find_backward(pass_kind::backward, place / 2, step);
    if ((place -= 2 * stages) < stages) return find_pass(pass_kind::forward, place, step);
    if ((place -= stages) < stages)
      return place > 0 && table.sends(table.backward_pass(place)) && find_backward(pass_kind::send, place, step);
    if ((place -= stages) < stages) return table.sends(place) && find_pass(pass_kind::send, place, step);
    if (place == stages) return find_pass(pass_kind::outfeed, last, step);
    step = {};
    return table.trains() && slot_ == table.slots() && table.has_stage(device_);
  }
  [[nodiscard]] constexpr bool find_backward(pass_kind kind, int stage, timetable_step& step) const {
    return timetable_->trains() && find_pass(kind, timetable_->backward_pass(stage), step);
  }
  [[nodiscard]] constexpr bool find_pass(pass_kind kind, int pass, timetable_step& step) const {
    if (timetable_->device_of_pass(pass) != device_) return false;
    int const micro_batch = timetable_->micro_batch_at(pass, slot_);
    step = {kind, pass, timetable_->stage_of_pass(pass), micro_batch};
    return micro_batch >= 0;
  }

  Timetable const* timetable_ = nullptr;
  int slot_ = 0;
  int device_ = 0;
};

}  // namespace stagecraft
