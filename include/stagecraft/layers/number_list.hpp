// SPDX-License-Identifier: BSD-3-Clause
// Keras's "a float or a list of floats", and its range from one float to another.
#pragma once

#include <stagecraft/graph/array_view.hpp>

#include <cstddef>
#include <type_traits>

namespace stagecraft {

/// Up to 32 numbers as an option: `0.5` or `{0, 0.5, 1}`. Layers and metrics report longer lists: E1075, E1102.
struct number_list {
  static constexpr int capacity = 32;

  float numbers[capacity]{};
  int count = 0;

  constexpr number_list() = default;
  template <class... Numbers>
    requires(sizeof...(Numbers) >= 1 && (std::is_arithmetic_v<Numbers> && ...))
  constexpr explicit(false) number_list(Numbers... number) {
    float const given[]{static_cast<float>(number)...};
    for (float const each : given) append(each);
  }

  /// Adds a number; `count` counts also numbers for which there is no room.
  constexpr void append(float number) noexcept {
    if (count < capacity) numbers[count] = number;
    ++count;
  }
  /// Sorts the numbers in ascending order.
  constexpr void sort() noexcept {
    for (int i = 1; i < kept(); ++i)
      for (int k = i; k > 0 && numbers[k - 1] > numbers[k]; --k) {
        float const smaller = numbers[k];
        numbers[k] = numbers[k - 1];
        numbers[k - 1] = smaller;
      }
  }
  /// Number of numbers that are kept.
  [[nodiscard]] constexpr int kept() const noexcept { return count < capacity ? count : capacity; }
  /// The numbers as a tensor of shape (kept()), for use in a `call`.
  [[nodiscard]] constexpr auto as_tensor(auto& ops) const {
    decltype(ops.full({1}, 0.0F)) each[capacity]{};
    for (int i = 0; i < kept(); ++i) each[i] = ops.full({1}, numbers[i]);
    return ops.concatenate(tracing::array_view(each, static_cast<std::size_t>(kept())));
  }
  /// True if there were more numbers than there is room for.
  [[nodiscard]] constexpr bool is_too_long() const noexcept { return count > capacity; }
  [[nodiscard]] constexpr bool empty() const noexcept { return count == 0; }
  [[nodiscard]] constexpr float const* begin() const noexcept { return numbers; }
  [[nodiscard]] constexpr float const* end() const noexcept { return numbers + kept(); }
  friend constexpr bool operator==(number_list const&, number_list const&) = default;
};

/// Keras's `factor` arguments of layers that change images at random: the range that a factor is drawn from. `0.2` is
/// {-0.2, 0.2}.
struct factor_range {
  float lower = 0;
  float upper = 0;

  constexpr factor_range() = default;
  constexpr explicit(false) factor_range(double both)
      : lower(-static_cast<float>(both)), upper(static_cast<float>(both)) {}
  constexpr factor_range(double lower_, double upper_)
      : lower(static_cast<float>(lower_)), upper(static_cast<float>(upper_)) {}

  /// True if the range lies in [least, most].
  [[nodiscard]] constexpr bool is_within(float least, float most) const noexcept {
    return lower >= least && lower <= upper && upper <= most;
  }
  friend constexpr bool operator==(factor_range const&, factor_range const&) = default;
};

}  // namespace stagecraft
