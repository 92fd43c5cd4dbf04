// SPDX-License-Identifier: BSD-3-Clause
// Numbers for randomised tests of threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

/// The same from run to run; each thread has its own.
struct random_numbers {
  std::uint64_t state;

  std::uint32_t below(std::uint32_t limit) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::uint32_t>(state >> 33U) % limit;
  }

  /// Nothing most of the time, or the core for others, or some microseconds.
  void linger() {
    auto const choice = below(8);
    if (choice == 0) std::this_thread::yield();
    if (choice != 1) return;
    auto const rounds = below(2000);
    for (std::uint32_t i = 0; i < rounds; ++i) std::atomic_signal_fence(std::memory_order_seq_cst);
  }
};
