// SPDX-License-Identifier: BSD-3-Clause
// What the threads of a run did when: one event per pass, copy, update and so on, recorded while it runs and looked at
// afterwards, for example with report/chrome_trace.hpp. Graphcore's counterpart: the execution trace of PopVision.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/pipeline/schedule/schedule.hpp>
#include <stagecraft/threads/owned.hpp>
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace stagecraft::engine {

/// Something that a thread did from `begin_ns` to `end_ns`, in nanoseconds of trace::now().
struct trace_event {
  int replica = 0;
  int device = 0;  ///< -1: no device, but the host itself
  int worker = 0;  ///< the thread that did it, from 0
  pass_kind kind = pass_kind::forward;
  int stage = -1;        ///< -1: it belongs to no stage
  int micro_batch = -1;  ///< -1: it belongs to no micro-batch
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;

  friend bool operator==(trace_event const&, trace_event const&) = default;
};

}  // namespace stagecraft::engine

namespace stagecraft {

/// Room for the events of some threads. Each thread writes to its own part: nothing is locked, and nothing is allocated
/// while a program runs. A part that is full takes no more; `dropped` counts what it did not take.
///
///     sc::trace record;
///     pipeline.record(&record);   // from now on; nullptr: no more
///     ...
///     sc::write_chrome_trace(record, "run.json");
///
/// What has been recorded may be looked at when no thread is recording: between two executions, or after the run.
class trace {
 public:
  /// @param events_per_worker  how many events of one thread are kept: 40 bytes each
  explicit trace(std::size_t events_per_worker = 65'536) : events_per_worker_(events_per_worker) {}

  trace(trace const&) = delete;
  trace& operator=(trace const&) = delete;

  /// Makes room for the events of threads 0 to `workers` - 1; what has been recorded stays. What runs a program calls
  /// it, before its threads record.
  void reserve(int workers) {
    while (static_cast<int>(parts_.size()) < workers)
      parts_.push_back(threads::owned<part>(new part(events_per_worker_)));
  }
  /// The threads for which there is room.
  [[nodiscard]] int workers() const noexcept { return static_cast<int>(parts_.size()); }

  /// Records an event of thread `event.worker`, which is the thread that calls this, and less than workers().
  void record(engine::trace_event const& event) noexcept {
    auto& own = *parts_[event.worker];
    if (own.count == events_per_worker_)
      ++own.dropped;
    else
      own.events[own.count++] = event;
  }

  /// The time, on a clock that never goes back.
  [[nodiscard]] static std::int64_t now() noexcept {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }

  /// All events, in the order in which they began.
  // A template, so that only programs that ask for them compile the sorting.
  template <class Event = engine::trace_event>
  [[nodiscard]] std::vector<Event> events() const {
    std::vector<Event> all;
    all.reserve(size());
    for (auto const& own : parts_) all.insert(all.end(), own->events.data(), own->events.data() + own->count);
    std::sort(all.begin(), all.end(), [](auto const& a, auto const& b) {
      return a.begin_ns != b.begin_ns ? a.begin_ns < b.begin_ns : a.end_ns < b.end_ns;
    });
    return all;
  }
  /// Number of recorded events.
  [[nodiscard]] std::size_t size() const noexcept {
    std::size_t count = 0;
    for (auto const& own : parts_) count += own->count;
    return count;
  }
  /// Number of events that came when there was no room left.
  [[nodiscard]] std::size_t dropped() const noexcept {
    std::size_t count = 0;
    for (auto const& own : parts_) count += own->dropped;
    return count;
  }
  /// Forgets all events, and keeps the room.
  void clear() noexcept {
    for (auto const& own : parts_) own->count = own->dropped = 0;
  }

 private:
  /// The part of one thread, in cache lines of its own, so that threads do not wait for each other's writes.
  struct alignas(64) part {
    explicit part(std::size_t capacity) : events(capacity) {}

    tracing::growing_array<engine::trace_event> events;
    std::size_t count = 0;
    std::size_t dropped = 0;
  };

  std::size_t events_per_worker_;
  tracing::growing_array<threads::owned<part>> parts_;
};

}  // namespace stagecraft

namespace stagecraft::engine {

/// One pass of one micro-batch, on one thread. `pass` names its replica, device, thread, stage and micro-batch.
class pass_recorder {
 public:
  pass_recorder(trace* to, trace_event const& pass) : to_(to), pass_(pass) {}

  [[nodiscard]] std::int64_t now() const { return to_ == nullptr ? 0 : trace::now(); }
  /// Ends something that began then, and returns when the next thing begins.
  std::int64_t add(pass_kind kind, std::int64_t begin) const {
    if (to_ == nullptr) return 0;
    trace_event event = pass_;
    event.kind = kind;
    event.begin_ns = begin;
    event.end_ns = trace::now();
    to_->record(event);
    return event.end_ns;
  }

 private:
  trace* to_;
  trace_event pass_;
};

}  // namespace stagecraft::engine
