// SPDX-License-Identifier: BSD-3-Clause
// Lets threads that work together run on processors of their own. Level 5.
#pragma once

#include <atomic>
#include <cstddef>
#include <vector>

#if defined(__linux__)
#include <sched.h>
#endif

namespace stagecraft {

/// Where the threads of a team run. A system may leave two of them on one processor for a long time while another is
/// idle (seen on a virtual machine): they wait for each other in loops, which looks like work. A
/// thread that finds itself where one with a smaller number runs asks to be moved; where it may run afterwards does not
/// change. Does nothing on other systems, and where there are fewer processors than threads.
class own_processor {
 public:
  explicit own_processor(int threads) : processor_(static_cast<std::size_t>(threads)) {
    for (auto& processor : processor_) processor.store(-1, std::memory_order_relaxed);
  }

  /// Called by each thread at the beginning of its work. Some tens of nanoseconds, unless it has to move.
  void find([[maybe_unused]] int thread) noexcept {
#if defined(__linux__)
    auto const own = static_cast<std::size_t>(thread);
    int const here = sched_getcpu();
    bool taken = false;
    for (std::size_t i = 0; i < own; ++i) taken = taken || processor_[i].load(std::memory_order_relaxed) == here;
    if (taken) move_away(own);
    processor_[own].store(taken ? sched_getcpu() : here, std::memory_order_relaxed);
#endif
  }

 private:
#if defined(__linux__)
  void move_away(std::size_t own) const noexcept {
    cpu_set_t allowed, free;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
    if (static_cast<std::size_t>(CPU_COUNT(&allowed)) < processor_.size()) return;
    free = allowed;
    for (std::size_t i = 0; i < own; ++i)
      if (int const other = processor_[i].load(std::memory_order_relaxed); other >= 0) CPU_CLR(other, &free);
    if (CPU_COUNT(&free) == 0 || sched_setaffinity(0, sizeof free, &free) != 0) return;
    sched_setaffinity(0, sizeof allowed, &allowed);
  }
#endif

  std::vector<std::atomic<int>> processor_;
};

}  // namespace stagecraft
