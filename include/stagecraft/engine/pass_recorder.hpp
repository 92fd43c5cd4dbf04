// SPDX-License-Identifier: BSD-3-Clause
// Records what a pass does when, if somebody wants to know.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/engine/trace.hpp>
#include <cstdint>

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
