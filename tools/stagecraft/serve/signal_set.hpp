// SPDX-License-Identifier: BSD-3-Clause
// Signals that a thread waits for, in place of handlers that interrupt.
#pragma once

#include <chrono>
#include <csignal>
#include <ctime>
#include <initializer_list>

namespace stagecraft::tool {

class signal_set {
 public:
  /// Blocks the signals in this thread and in the threads that it begins later.
  explicit signal_set(std::initializer_list<int> signals) {
    ::sigemptyset(&set_);
    for (int const each : signals) ::sigaddset(&set_, each);
    ::pthread_sigmask(SIG_BLOCK, &set_, nullptr);
  }

  /// Waits for the next signal.
  [[nodiscard]] int wait() const {
    for (;;)
      if (int const found = ::sigwaitinfo(&set_, nullptr); found > 0) return found;
  }
  /// Waits for the next signal; returns 0 if none comes in that time.
  [[nodiscard]] int wait_for(std::chrono::milliseconds time) const {
    std::timespec const pause{static_cast<std::time_t>(time.count() / 1000),
                              static_cast<long>(time.count() % 1000 * 1000000)};
    int const found = ::sigtimedwait(&set_, nullptr, &pause);
    return found > 0 ? found : 0;
  }

 private:
  sigset_t set_;
};

}  // namespace stagecraft::tool
