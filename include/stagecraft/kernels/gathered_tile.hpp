// SPDX-License-Identifier: BSD-3-Clause
// The micro-kernel of the convolutions: like that of the matrix products, a
// tile of the result that stays in registers, but the rows of the left factor
// lie anywhere and its steps come in runs. Level 4 of the house; private to the
// kernels.
#pragma once

#include <stagecraft/kernels/register_tile.hpp>
#include <stagecraft/kernels/simd.hpp>

#include <cstddef>

namespace stagecraft::kernels::detail {

/// The steps of a tile: `rows` times `columns` runs of `steps` steps, and how
/// far the factors move from a row of runs to the next, from a run to the next,
/// and from a step to the next.
struct step_runs {
  int rows = 1;
  int columns = 1;
  int steps = 0;
  std::ptrdiff_t left_row = 0;
  std::ptrdiff_t right_row = 0;
  std::ptrdiff_t left_column = 0;
  std::ptrdiff_t right_column = 0;
  std::ptrdiff_t left_step = 1;
  std::ptrdiff_t right_step = 1;
};

/// The value as the compiler must take it: one register, and no relation to
/// what it was before.
inline void keep_in_register([[maybe_unused]] std::ptrdiff_t &value) {
#if defined(__GNUC__)
  asm("" : "+r"(value));
#endif
}

/// The most rows of a gathered tile that is so many registers wide: each row's
/// address takes a general register.
template <class Arch>
[[nodiscard]] consteval int most_gathered_rows(int vectors) {
  int const rows =
      (vector_registers<Arch>() - vectors - scratch_registers<Arch>()) /
      vectors;
  return rows < 10 ? rows : 10;
}

/// sums[i][j] = over all steps: left[i][where the step's left factor lies] *
/// right[where its right factor lies + j * lanes...]. With LeftStep or
/// RightStep that is not 0, it is the distance between steps, known at compile
/// time. A function of its own, shared by all convolutions: the sums pass
/// through the first-level cache, which costs about a hundredth of the time,
/// and saves most of the code.
template <int Rows, int Vectors, int LeftStep, int RightStep, class Arch>
[[gnu::noinline]] void gathered_tile(float const *const *left,
                                     float const *right, step_runs const &runs,
                                     float *sums) {
  constexpr int width = lanes<Arch>;
  float const *row[Rows];
  batch<Arch> sum[Rows][Vectors];
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i) {
    row[i] = left[i];
#pragma GCC unroll 4
    for (int j = 0; j < Vectors; ++j)
      sum[i][j] = batch<Arch>(0.0F);
  }
  std::ptrdiff_t const left_step = LeftStep != 0 ? LeftStep : runs.left_step;
  std::ptrdiff_t const right_step =
      RightStep != 0 ? RightStep : runs.right_step;
  for (int r = 0; r < runs.rows; ++r)
    for (int c = 0; c < runs.columns; ++c) {
      std::ptrdiff_t at = r * runs.left_row + c * runs.left_column;
      std::ptrdiff_t const end = at + runs.steps * left_step;
      float const *from = right + r * runs.right_row + c * runs.right_column;
      for (; at != end; at += left_step, from += right_step) {
        keep_in_register(at);
        batch<Arch> factor[Vectors];
#pragma GCC unroll 4
        for (int j = 0; j < Vectors; ++j)
          factor[j] = load_once<Arch>(from + j * width);
#pragma GCC unroll 16
        for (int i = 0; i < Rows; ++i) {
          batch<Arch> const element(row[i][at]);
#pragma GCC unroll 4
          for (int j = 0; j < Vectors; ++j)
            sum[i][j] = fused_multiply_add(element, factor[j], sum[i][j]);
        }
      }
    }
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < Vectors; ++j)
      sum[i][j].store_aligned(sums + (i * Vectors + j) * width);
}

} // namespace stagecraft::kernels::detail
