// SPDX-License-Identifier: BSD-3-Clause
// The micro-kernel of the convolutions: like that of the matrix products, a tile of the result that stays in registers,
// but the rows of the left factor lie anywhere and its steps come in runs. Private to the kernels.
#pragma once

#include <stagecraft/kernels/product/register_tile.hpp>
#include <stagecraft/kernels/simd/simd.hpp>

#include <cstddef>
#include <type_traits>
#include <utility>

namespace stagecraft::kernels::detail {

/// The steps of a tile: `rows` times `columns` runs of `steps` steps, and the distances of both factors from a row of
/// runs to the next, from a run to the next, and from a step to the next.
struct step_runs {
  int rows = 0;
  int columns = 1;
  int steps = 0;
  std::ptrdiff_t left_row = 0;
  std::ptrdiff_t right_row = 0;
  std::ptrdiff_t left_column = 0;
  std::ptrdiff_t right_column = 0;
  std::ptrdiff_t left_step = 1;
  std::ptrdiff_t right_step = 1;
  /// What is fetched into the second-level cache meanwhile.
  float const* ahead = nullptr;
};

/// Makes the compiler keep a value in one register, and forget its relation to other values.
inline void keep_in_register([[maybe_unused]] std::ptrdiff_t& value) {
#if defined(__GNUC__)
  asm("" : "+r"(value));
#endif
}

/// The most rows of a gathered tile that is `vectors` registers wide: each row's address takes a general register.
template <class Arch>
[[nodiscard]] consteval int most_gathered_rows(int vectors) {
  int const rows = (vector_registers<Arch>() - vectors - scratch_registers<Arch>()) / vectors;
  return rows < 10 ? rows : 10;
}

/// Steps ahead of the sums at which both factors are prefetched, where they are read with large strides.
inline constexpr int steps_ahead = 8;

/// Calls visit(i, j) for i in [0, Rows) and j in [0, Vectors), as constants: indices into sums that stay in registers.
template <int Rows, int Vectors, class Visit>
[[gnu::always_inline]] inline void for_each_sum(Visit const& visit) {
  [&]<int... Index>(std::integer_sequence<int, Index...>) __attribute__((always_inline)) {
    (visit(std::integral_constant<int, Index / Vectors>(), std::integral_constant<int, Index % Vectors>()), ...);
  }(std::make_integer_sequence<int, Rows * Vectors>());
}

/// Calls finish(i, j, sum) for every i in [0, Rows) and j in [0, Vectors) with the sum over all steps, as defined by
/// Terms, of left[i][offset of the step's left factor] * right[offset of its right factor + j * lanes...]. A LeftStep
/// or RightStep that is not 0 is the distance between steps, known at compile time. Each step fetches `Fetched` floats
/// of what is read later. It is a function of its own, so that GCC keeps all sums in registers.
template <int Rows, int Vectors, int LeftStep, int RightStep, class Arch, class Terms = float_terms, int Fetched = 0,
          class Finish>
[[gnu::noinline]] void gathered_tile(float const* const* left, float const* right, step_runs const& runs,
                                     Finish const& finish) {
  constexpr int width = lanes<Arch>;
  float const* row[Rows];
  batch<Arch> sum[Rows][Vectors];
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i) {
    row[i] = left[i];
#pragma GCC unroll 4
    for (int j = 0; j < Vectors; ++j) sum[i][j] = batch<Arch>(0.0F);
  }
  std::ptrdiff_t const left_step = LeftStep != 0 ? LeftStep : runs.left_step;
  std::ptrdiff_t const right_step = RightStep != 0 ? RightStep : runs.right_step;
  [[maybe_unused]] float const* ahead = runs.ahead;
  constexpr int line = 16;
  for (int r = 0; r < runs.rows; ++r)
    for (int c = 0; c < runs.columns; ++c) {
      std::ptrdiff_t at = r * runs.left_row + c * runs.left_column;
      std::ptrdiff_t const end = at + runs.steps * left_step;
      float const* from = right + r * runs.right_row + c * runs.right_column;
      for (; at != end; at += left_step, from += right_step) {
        keep_in_register(at);
        if constexpr (RightStep == 0) {
#pragma GCC unroll 4
          for (int j = 0; j < Vectors; ++j) __builtin_prefetch(from + steps_ahead * right_step + j * width);
          __builtin_prefetch(row[0] + at + steps_ahead * left_step);
        }
        if constexpr (Fetched > 0) {
#pragma GCC unroll 16
          for (int f = 0; f < Fetched; f += line) __builtin_prefetch(ahead + f, 0, 2);
          ahead += Fetched;
        }
        batch<Arch> factor[Vectors];
#pragma GCC unroll 4
        for (int j = 0; j < Vectors; ++j) factor[j] = load_once<Arch>(from + j * width);
#pragma GCC unroll 16
        for (int i = 0; i < Rows; ++i) {
          batch<Arch> const element(row[i][at]);
#pragma GCC unroll 4
          for (int j = 0; j < Vectors; ++j) sum[i][j] = Terms::add(element, factor[j], sum[i][j]);
        }
      }
    }
  // A copy stays in registers, too: the original might lie where something is stored.
  Finish const own = finish;
  for_each_sum<Rows, Vectors>([&](auto i, auto j)
                                  __attribute__((always_inline)) { own(i, j, batch<Arch>(sum[i][j])); });
}

/// `gathered_tile` for short runs that are known at compile time, without loops.
template <int Rows, int Vectors, step_runs Runs, class Arch, class Terms = float_terms, class Finish>
[[gnu::noinline]] void short_gathered_tile(float const* const* left, float const* right, Finish const& finish) {
  constexpr int width = lanes<Arch>;
  batch<Arch> sum[Rows][Vectors];
  float const* row[Rows];
#pragma GCC unroll 16
  for (int i = 0; i < Rows; ++i) {
    row[i] = left[i];
#pragma GCC unroll 4
    for (int j = 0; j < Vectors; ++j) sum[i][j] = batch<Arch>(0.0F);
  }
#pragma GCC unroll 32
  for (int step = 0; step < Runs.rows * Runs.columns * Runs.steps; ++step) {
    int const r = step / Runs.steps / Runs.columns;
    int const c = step / Runs.steps % Runs.columns;
    int const s = step % Runs.steps;
    std::ptrdiff_t const at = r * Runs.left_row + c * Runs.left_column + s * Runs.left_step;
    std::ptrdiff_t const from = r * Runs.right_row + c * Runs.right_column + s * Runs.right_step;
    batch<Arch> factor[Vectors];
#pragma GCC unroll 4
    for (int j = 0; j < Vectors; ++j) factor[j] = load_once<Arch>(right + from + j * width);
#pragma GCC unroll 16
    for (int i = 0; i < Rows; ++i) {
      batch<Arch> const element(row[i][at]);
#pragma GCC unroll 4
      for (int j = 0; j < Vectors; ++j) sum[i][j] = Terms::add(element, factor[j], sum[i][j]);
    }
  }
  // A copy stays in registers, too: the original might lie where something is stored.
  Finish const own = finish;
  for_each_sum<Rows, Vectors>([&](auto i, auto j)
                                  __attribute__((always_inline)) { own(i, j, batch<Arch>(sum[i][j])); });
}

}  // namespace stagecraft::kernels::detail
