// SPDX-License-Identifier: BSD-3-Clause
// How an emulated IPU's thread rounds what its tiles store in half precision.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/tiles/half_number.hpp>
#include <stagecraft/kernels/random/random.hpp>
#include <cstdint>
#include <utility>

namespace stagecraft::tiles {

/// IPUConfig's `floating_point_behaviour.nanoo` and `esr`, and which random numbers are drawn.
struct half_rounding_rules {
  bool nan_on_overflow = false;  ///< else the largest number
  bool at_random = false;        ///< else to the nearest, the even one of two
  kernels::random_key key{0, 0};
};

struct half_rounding_state {
  half_rounding_rules rules = {};
  std::uint64_t drawn = 0;
  bool overflowed = false;
};

/// While it lives, the halves that this thread stores in tiles' memories follow its rules; in the order in which they
/// are stored, each takes a random number. Without any, they are rounded to the nearest, and not above the largest.
class half_rounding {
 public:
  explicit half_rounding(half_rounding_rules const& rules) noexcept
      : before_(std::exchange(current_, half_rounding_state{.rules = rules})) {}
  half_rounding(half_rounding const&) = delete;
  half_rounding& operator=(half_rounding const&) = delete;
  ~half_rounding() { current_ = before_; }

  /// Whether a number was too large since then.
  [[nodiscard]] bool overflowed() const noexcept { return current_.overflowed; }

  /// The half that stands for a number.
  [[nodiscard]] static std::uint16_t half_of(float number) noexcept {
    auto& now = current_;
    auto const half = now.rules.at_random
                          ? half_number::at_random(number, kernels::random_uniform(now.rules.key, now.drawn++))
                          : half_number::nearest(number);
    if (!half_number::is_infinite(half)) return half;
    now.overflowed = true;
    return half_number::without_infinity(half, now.rules.nan_on_overflow);
  }

 private:
  static inline thread_local half_rounding_state current_;
  half_rounding_state before_;
};

}  // namespace stagecraft::tiles
