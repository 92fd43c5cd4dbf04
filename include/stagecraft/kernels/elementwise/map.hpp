// SPDX-License-Identifier: BSD-3-Clause
// Functions of one, two or three numbers over whole arrays, with broadcasting: arrays of up to eight axes are walked
// through at once, row by row, each with strides of its own.
#pragma once

#include <stagecraft/kernels/elementwise/row_step.hpp>
#include <stagecraft/kernels/simd/simd.hpp>
#include <algorithm>
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

  /// Adds an axis inside the ones before. It is merged with the last one if all arrays run through both as through one.
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

  /// The length of the innermost axis, which is a row, and its strides.
  [[nodiscard]] std::int64_t row_length() const { return count_ > 0 ? lengths_[top()] : 1; }
  [[nodiscard]] offsets row_strides() const { return count_ > 0 ? strides_[top()] : offsets{}; }

  /// The length of the axis around it, which are the rows of a block, and its strides.
  [[nodiscard]] std::int64_t rows() const { return count_ < 2 ? 1 : lengths_[top() - 1]; }
  [[nodiscard]] offsets strides_of_rows() const { return count_ < 2 ? offsets{} : strides_[top() - 1]; }

  /// Calls `f(offsets)` for each row, in order, with its begin in each array.
  template <class F>
  void for_each_row(F const& f) const {
    walk(count_ - 2, f);
  }
  /// Calls `f(offsets)` for each block of `rows()` rows.
  template <class F>
  void for_each_block(F const& f) const {
    walk(count_ - 3, f);
  }

 private:
  /// Walks along axis `innermost` and those around it.
  template <class F>
  void walk(int innermost, F const& f) const {
    std::array<std::int64_t, most_axes> index{};
    offsets place{};
    while (true) {
      f(place);
      int axis = innermost;
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
  [[nodiscard]] constexpr std::size_t top() const { return static_cast<std::size_t>(count_ - 1); }

  std::array<std::int64_t, most_axes> lengths_{};
  std::array<offsets, most_axes> strides_{};
  int count_ = 0;
};

/// Copies rows: array 0 is written, array 1 read.
template <class Arch = default_architecture>
inline void copy_strided(strided_axes<2, Arch> const& axes, float* y, float const* x) {
  auto const length = axes.row_length(), rows = axes.rows();
  auto const strides = axes.row_strides(), of_rows = axes.strides_of_rows();
  bool const are_rows = strides[0] == 1 && strides[1] == 1;
  axes.for_each_block([&](auto const& at) {
    float* to = y + at[0];
    float const* from = x + at[1];
    auto const copy_rows = [&](std::int64_t floats) {
      for (std::int64_t row = 0; row < rows; ++row, to += of_rows[0], from += of_rows[1])
        for (std::int64_t i = 0; i < floats; ++i) to[i] = from[i];
    };
    if (are_rows && length == 3) return copy_rows(3);  // the colours of a pixel
    if (are_rows) return copy_rows(length);
    if (strides[0] == 1 && strides[1] == 0) {  // a number for each row
      for (std::int64_t row = 0; row < rows; ++row, to += of_rows[0], from += of_rows[1])
        std::fill_n(to, length, *from);
      return;
    }
    for (std::int64_t row = 0; row < rows; ++row, to += of_rows[0], from += of_rows[1])
      for (std::int64_t i = 0; i < length; ++i) to[i * strides[0]] = from[i * strides[1]];
  });
}

/// y = apply(x...) at each place. Array 0 of `axes` is y, the others are the operands. Operands that the function does
/// not have may be any readable memory.
template <class Arch = default_architecture>
inline void map_function(operations::function apply, strided_axes<4, Arch> const& axes, float* y,
                         std::array<float*, 3> const& x) {
  auto const length = axes.row_length();
  auto const strides = axes.row_strides(), of_rows = axes.strides_of_rows();
  row_step row{.run = row_kernel<Arch>(apply),
               .y = {y, of_rows[0], length},
               .x = {},
               .operands = arity(apply),
               .is_one_row = false};
  for (std::size_t k = 0; k < 3; ++k) row.x[k] = {x[k], of_rows[k + 1], strides[k + 1] == 0 ? 1 : length};
  auto const rows = axes.rows();
  axes.for_each_block([&](auto const& at) {
    row.y.begin = y + at[0];
    for (std::size_t k = 0; k < 3; ++k) row.x[k].begin = x[k] + at[k + 1];
    row.run(row, 0, rows);
  });
}

}  // namespace stagecraft::kernels
