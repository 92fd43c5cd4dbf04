// SPDX-License-Identifier: BSD-3-Clause
// What was started for as long as a scope lasts.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>

namespace stagecraft::threads {

/// Stops at its end what works in the background, before what that uses is gone: it is declared after it.
template <class Runner>
class [[nodiscard]] running {
 public:
  explicit running(Runner& runner) noexcept : runner_(&runner) {}
  running(running const&) = delete;
  running& operator=(running const&) = delete;
  ~running() { runner_->stop(); }

 private:
  Runner* runner_;
};

}  // namespace stagecraft::threads
