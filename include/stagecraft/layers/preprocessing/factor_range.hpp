// SPDX-License-Identifier: BSD-3-Clause
// Keras's `factor` arguments of layers that change images at random.
#pragma once

namespace stagecraft {

/// What a factor is drawn from: `0.2` is {-0.2, 0.2}.
struct factor_range {
  float lower = 0;
  float upper = 0;

  constexpr factor_range() = default;
  constexpr explicit(false) factor_range(double both)
      : lower(-static_cast<float>(both)), upper(static_cast<float>(both)) {}
  constexpr factor_range(double lower_, double upper_)
      : lower(static_cast<float>(lower_)), upper(static_cast<float>(upper_)) {}

  /// Whether all of it lies between these.
  [[nodiscard]] constexpr bool is_within(float least, float most) const noexcept {
    return lower >= least && lower <= upper && upper <= most;
  }
  friend constexpr bool operator==(factor_range const&, factor_range const&) = default;
};

}  // namespace stagecraft
