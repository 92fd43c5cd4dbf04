// SPDX-License-Identifier: BSD-3-Clause
// Calls that wait for a place in a batch.
#pragma once

#include <stagecraft/serving/reply.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

namespace stagecraft::serving::detail {

using call_pointer = std::shared_ptr<call_record>;

/// The samples of one call in a batch: `count` of them from `first` on.
struct batch_part {
  call_pointer call;
  std::int64_t first = 0;
  std::int64_t count = 0;
};
using call_batch = std::vector<batch_part>;

/// Calls in the order of their arrival, the more urgent ones first. A call that has filled a batch and has more samples
/// goes to the end of those of its priority, so that a large call delays these by one batch at most. The owner locks.
class call_queue {
 public:
  [[nodiscard]] bool empty() const noexcept { return calls_.empty(); }
  /// True if a call waits of which some samples are in batches already.
  [[nodiscard]] bool has_begun() const noexcept { return begun_ > 0; }
  [[nodiscard]] std::size_t size() const noexcept { return calls_.size(); }
  /// The number of samples that are in no batch yet.
  [[nodiscard]] std::int64_t samples() const noexcept { return samples_; }
  [[nodiscard]] call_record const& front() const { return *calls_.front(); }

  void push(call_pointer call) {
    auto place = calls_.end();
    while (place != calls_.begin() && rank_of(**std::prev(place)) > rank_of(*call)) --place;
    auto const& own = **calls_.insert(place, std::move(call));
    samples_ += own.samples - own.given;
    begun_ += own.given > 0 ? 1 : 0;
  }

  /// Drops calls at the front that are abandoned or late, and returns their number.
  std::int64_t drop_left(serving_clock::time_point now) {
    std::int64_t dropped = 0;
    while (!calls_.empty()) {
      auto const& call = calls_.front();
      bool const is_late = call->deadline <= now;
      if (!call->abandoned && !is_late) break;
      if (is_late) (void)call->finish(call_failure::of_time());
      (void)pop();
      ++dropped;
    }
    return dropped;
  }

  /// Adds the samples of the next batch, up to `room`, to an empty one; `left` grows by the calls that were dropped.
  void take(call_batch& taken, std::int64_t room, std::int64_t& left) {
    auto const now = serving_clock::now();
    while (room > 0) {
      left += drop_left(now);
      if (calls_.empty()) break;
      auto const first = front().given, count = std::min(room, front().samples - first);
      taken.push_back({calls_.front(), first, count});
      auto call = pop();
      call->given += count;
      room -= count;
      if (call->given < call->samples) push(std::move(call));
    }
  }

  /// Removes the calls that have samples in batches without outputs, and finishes them with `why`. Returns how many had
  /// no answer before. Like the next two functions, it needs no memory.
  std::int64_t fail_in_servable(call_failure const& why) noexcept {
    return fail_if(why, [](call_record const& call) { return call.given > call.done; });
  }
  /// Removes and finishes the calls of which no sample is in a batch.
  std::int64_t fail_waiting(call_failure const& why) noexcept {
    return fail_if(why, [](call_record const& call) { return call.given == 0; });
  }
  std::int64_t fail_all(call_failure const& why) noexcept {
    return fail_if(why, [](call_record const&) { return true; });
  }

 private:
  static int rank_of(call_record const& call) noexcept {
    return call.priority == 0 ? std::numeric_limits<int>::max() : call.priority;
  }
  call_pointer pop() {
    auto call = std::move(calls_.front());
    samples_ -= call->samples - call->given;
    begun_ -= call->given > 0 ? 1 : 0;
    calls_.pop_front();
    return call;
  }
  template <class Condition>
  std::int64_t fail_if(call_failure const& why, Condition const& is_failed) noexcept {
    std::int64_t failed = 0;
    std::erase_if(calls_, [&](call_pointer const& call) {
      if (!is_failed(*call)) return false;
      samples_ -= call->samples - call->given;
      begun_ -= call->given > 0 ? 1 : 0;
      failed += call->finish(why) ? 1 : 0;
      return true;
    });
    return failed;
  }

  std::deque<call_pointer> calls_;
  std::int64_t samples_ = 0, begun_ = 0;
};

}  // namespace stagecraft::serving::detail
