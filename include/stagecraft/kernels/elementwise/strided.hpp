// SPDX-License-Identifier: BSD-3-Clause
// Walks through several arrays of up to eight axes at once, row by row, where each array has strides of its own.
#pragma once

#include <stagecraft/kernels/simd/simd.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

namespace stagecraft::kernels {

/// Lengths of axes, and for each of `Arrays` arrays the floats from one place of an axis to the next; 0 repeats.
template <int Arrays, class Arch = default_architecture>
class strided_axes {
 public:
  static constexpr int most_axes = 8;
  using offsets = std::array<std::int64_t, Arrays>;

  /// A further axis, inside the ones before. Axes that all arrays run through as if they were one become one.
  constexpr void add(std::int64_t length, offsets const& strides) {
    if (length == 1) return;
    if (count_ > 0) {
      bool is_one = true;
      for (std::size_t i = 0; i < Arrays; ++i) is_one = is_one && strides_[top()][i] == strides[i] * length;
      if (is_one) {
        lengths_[top()] *= length;
        strides_[top()] = strides;
        return;
      }
    }
    lengths_[count_] = length;
    strides_[count_++] = strides;
  }

  /// Of the innermost axis, which is a row: its length, and its strides.
  [[nodiscard]] std::int64_t row_length() const { return count_ > 0 ? lengths_[top()] : 1; }
  [[nodiscard]] offsets row_strides() const { return count_ > 0 ? strides_[top()] : offsets{}; }

  /// Of the axis around it, if there is only one such: its length, and its strides. Length 0: there are more.
  [[nodiscard]] std::int64_t rows() const { return count_ < 2 ? 1 : count_ == 2 ? lengths_[0] : 0; }
  [[nodiscard]] offsets strides_of_rows() const { return count_ == 2 ? strides_[0] : offsets{}; }

  /// Calls `f(offsets)` with where each row begins in each array, in order.
  template <class F>
  void for_each_row(F const& f) const {
    std::array<std::int64_t, most_axes> index{};
    offsets place{};
    while (true) {
      f(place);
      int axis = count_ - 2;
      for (; axis >= 0; --axis) {
        auto const a = static_cast<std::size_t>(axis);
        for (std::size_t i = 0; i < Arrays; ++i) place[i] += strides_[a][i];
        if (++index[a] < lengths_[a]) break;
        for (std::size_t i = 0; i < Arrays; ++i) place[i] -= strides_[a][i] * lengths_[a];
        index[a] = 0;
      }
      if (axis < 0) return;
    }
  }

 private:
  [[nodiscard]] constexpr std::size_t top() const { return static_cast<std::size_t>(count_ - 1); }

  std::array<std::int64_t, most_axes> lengths_{};
  std::array<offsets, most_axes> strides_{};
  int count_ = 0;
};

/// Copies rows: array 0 is written, array 1 read.
template <class Arch = default_architecture>
inline void copy_strided(strided_axes<2, Arch> const& axes, float* y, float const* x) {
  auto const length = axes.row_length();
  auto const strides = axes.row_strides();
  axes.for_each_row([&](auto const& at) {
    float* const to = y + at[0];
    float const* const from = x + at[1];
    if (strides[0] == 1 && strides[1] == 1)
      for (std::int64_t i = 0; i < length; ++i) to[i] = from[i];
    else
      for (std::int64_t i = 0; i < length; ++i) to[i * strides[0]] = from[i * strides[1]];
  });
}

}  // namespace stagecraft::kernels
