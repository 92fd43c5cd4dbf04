// SPDX-License-Identifier: BSD-3-Clause
// How long a version's calls took: sums, and a histogram that is fine enough for p99.9.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace stagecraft::tool {

/// Any thread may call any function.
class call_times {
 public:
  struct sum {
    std::int64_t calls = 0, nanoseconds = 0;
  };

  void count(bool has_succeeded, std::chrono::nanoseconds time) noexcept {
    auto& to = has_succeeded ? succeeded_ : failed_;
    to.calls.fetch_add(1, std::memory_order_relaxed);
    to.nanoseconds.fetch_add(time.count(), std::memory_order_relaxed);
    if (!has_succeeded) return;
    places_[place_of(std::chrono::duration<double>(time).count())].fetch_add(1, std::memory_order_relaxed);
    auto const now = std::chrono::system_clock::now().time_since_epoch();
    last_.store(std::chrono::duration_cast<std::chrono::milliseconds>(now).count(), std::memory_order_relaxed);
  }

  [[nodiscard]] sum succeeded() const noexcept { return read(succeeded_); }
  [[nodiscard]] sum failed() const noexcept { return read(failed_); }
  /// When a call last succeeded, in milliseconds since 1970; 0: none has.
  [[nodiscard]] std::int64_t last() const noexcept { return last_.load(std::memory_order_relaxed); }
  /// The time, in seconds and at most a twentieth too long, that this part of the successful calls did not take
  /// longer than; 0 without calls.
  [[nodiscard]] double quantile(double part) const noexcept {
    std::array<std::int64_t, places> counts{};
    std::int64_t all = 0;
    for (std::size_t i = 0; i < places; ++i) all += counts[i] = places_[i].load(std::memory_order_relaxed);
    if (all == 0) return 0;
    auto const calls = std::ceil(part * static_cast<double>(all));
    auto const wanted = std::max<std::int64_t>(static_cast<std::int64_t>(calls), 1);
    std::int64_t reached = 0;
    std::size_t place = 0;
    while (place + 1 < places && (reached += counts[place]) < wanted) ++place;
    return least * std::pow(step, static_cast<double>(place));
  }

 private:
  // From a microsecond to five minutes.
  static constexpr std::size_t places = 400;
  static constexpr double least = 1e-6, step = 1.05;

  struct counted {
    std::atomic<std::int64_t> calls = 0, nanoseconds = 0;
  };
  static sum read(counted const& of) noexcept {
    return {of.calls.load(std::memory_order_relaxed), of.nanoseconds.load(std::memory_order_relaxed)};
  }
  static std::size_t place_of(double seconds) noexcept {
    auto const place = std::ceil(std::log(std::max(seconds, least) / least) / std::log(step));
    return std::min(static_cast<std::size_t>(place), places - 1);
  }

  counted succeeded_, failed_;
  std::atomic<std::int64_t> last_ = 0;
  std::array<std::atomic<std::int64_t>, places> places_{};
};

}  // namespace stagecraft::tool
