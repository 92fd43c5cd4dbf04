// SPDX-License-Identifier: BSD-3-Clause
// Products of matrices of bfloat16, where the processor multiplies pairs of them: two numbers that are summed one after
// the other lie in the place of a float, the first in its lower half, and each step of a product adds both. All else is
// as for floats, but where the processor multiplies tiles of pairs. Keras counterpart: tf.matmul of tf.bfloat16.
#pragma once

#include <stagecraft/kernels/product/bfloat16_tiles.hpp>
#include <stagecraft/kernels/product/matmul.hpp>
#include <stagecraft/kernels/product/matmul_gradient.hpp>
#include <stagecraft/kernels/simd/bfloat16.hpp>
#include <stagecraft/kernels/simd/transpose.hpp>

#include <cstdint>
#include <cstring>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

namespace stagecraft::kernels {

/// Whether an architecture has instructions for it (AVX-512 BF16).
#if defined(__AVX512BF16__)
template <class Arch>
inline constexpr bool multiplies_bfloat16_pairs = has_avx512<Arch>;
#else
template <class Arch>
inline constexpr bool multiplies_bfloat16_pairs = false;
#endif

namespace detail {

/// The terms of a sum: products of pairs.
struct bfloat16_pair_terms {
  template <class Arch>
  [[nodiscard, gnu::always_inline]] static inline xsimd::batch<float, Arch> add(
      [[maybe_unused]] xsimd::batch<float, Arch> const& left, [[maybe_unused]] xsimd::batch<float, Arch> const& right,
      xsimd::batch<float, Arch> const& sum) {
#if defined(__AVX512BF16__)
    if constexpr (has_avx512<Arch>)
      return _mm512_dpbf16_ps(sum, __builtin_bit_cast(__m512bh, left.data), __builtin_bit_cast(__m512bh, right.data));
    else
#endif
      return sum;  // never called
  }
};

/// A register of pairs: of each lane of `first` and of `second`.
template <class Arch>
[[nodiscard]] inline batch<Arch> pair_up(batch<Arch> const& first, batch<Arch> const& second) {
  using integer = xsimd::batch<std::int32_t, Arch>;
  alignas(64) std::uint16_t lower[lanes<Arch>], upper[lanes<Arch>];
  store_bfloat16(first, lower);
  store_bfloat16(second, upper);
  integer const low = bit_cast<std::int32_t>(load_bfloat16<Arch>(lower)),
                high = bit_cast<std::int32_t>(load_bfloat16<Arch>(upper));
  return bit_cast<float>(((low >> 16) & integer(0xFFFF)) | high);
}

}  // namespace detail

/// From a packed_matrix<K, N, Arch> of floats to a packed_matrix<K / 2, N, Arch> of pairs of rows. K is even. Items of
/// `part`: pairs of rows.
template <int K, int N, class Arch = default_architecture>
inline void pack_row_pairs(float const* w, float* pairs, share part = {}) {
  static_assert(K % 2 == 0);
  using from = packed_matrix<K, N, Arch>;
  using to = packed_matrix<K / 2, N, Arch>;
  auto const [first, last] = part.of(K / 2);
  for (int panel = 0; panel < from::panels; ++panel)
    for (auto row = static_cast<int>(first); row < last; ++row)
      for (int column = 0; column < from::panel_columns; column += lanes<Arch>) {
        float const* const upper = w + panel * from::panel_stride + 2 * row * from::panel_columns + column;
        detail::pair_up<Arch>(batch<Arch>::load_unaligned(upper),
                              batch<Arch>::load_unaligned(upper + from::panel_columns))
            .store_unaligned(pairs + panel * to::panel_stride + row * to::panel_columns + column);
      }
}

/// The same of the transposed matrix: a packed_matrix<N / 2, K, Arch> of pairs of columns. N is even. Items of `part`:
/// as many rows of w as a register has lanes.
template <int K, int N, class Arch = default_architecture>
inline void pack_column_pairs(float const* w, float* pairs, share part = {}) {
  static_assert(N % 2 == 0);
  using from = packed_matrix<K, N, Arch>;
  using to = packed_matrix<N / 2, K, Arch>;
  constexpr int width = lanes<Arch>;
  auto const [first, last] = part.of((K + width - 1) / width);
  for (auto block = static_cast<int>(first); block < last; ++block) {
    int const row = block * width, rows = K - row < width ? K - row : width;
    for (int column = 0; column < N; column += 2 * width) {
      alignas(64) std::uint16_t narrow[width][2 * width] = {};
      for (int i = 0; i < rows; ++i)
        for (int part_of = 0; part_of < 2 && column + part_of * width < N; ++part_of)
          store_bfloat16(batch<Arch>::load_unaligned(w + from::index(row + i, column + part_of * width)),
                         narrow[i] + part_of * width);
      alignas(64) float wide[width * width], transposed[width * width];
      std::memcpy(wide, narrow, sizeof narrow);
      transpose_block<Arch>(wide, width, width, transposed, width);
      for (int i = 0; i < width && column / 2 + i < N / 2; ++i)
        batch<Arch>::load_aligned(transposed + i * width).store_unaligned(pairs + to::index(column / 2 + i, row));
    }
  }
}

/// Rows x Columns numbers of bfloat16, row by row, to Rows / 2 x Columns pairs of rows. Rows is even. Items of `part`:
/// pairs of rows.
template <int Rows, int Columns, class Arch = default_architecture>
inline void pair_rows(std::uint16_t const* x, float* pairs, share part = {}) {
  static_assert(Rows % 2 == 0);
  using integer = xsimd::batch<std::int32_t, Arch>;
  constexpr int width = lanes<Arch>, whole = Columns / width * width;
  auto const [first, last] = part.of(Rows / 2);
  for (std::int64_t row = first; row < last; ++row) {
    std::uint16_t const* const upper = x + 2 * row * Columns;
    float* const to = pairs + row * Columns;
    for (int column = 0; column < whole; column += width) {
      integer const low = bit_cast<std::int32_t>(load_bfloat16<Arch>(upper + column)),
                    high = bit_cast<std::int32_t>(load_bfloat16<Arch>(upper + Columns + column));
      bit_cast<float>(((low >> 16) & integer(0xFFFF)) | high).store_unaligned(to + column);
    }
    for (int column = whole; column < Columns; ++column) {
      std::uint16_t const pair[2] = {upper[column], upper[Columns + column]};
      std::memcpy(to + column, pair, sizeof pair);
    }
  }
}

/// y = epilogue(x * w) in floats. x: M x K numbers of bfloat16, row by row; w: `pack_row_pairs` of K x N. A single row
/// would leave 15 of a tile's 16 rows empty, and reading w is all its work.
template <int M, int K, int N, class Arch = default_architecture, class Epilogue = no_epilogue>
inline void matmul_of_pairs(std::uint16_t const* x, float const* w, float* y, Epilogue const& epilogue = {},
                            share part = {}) {
  auto const* const pairs = reinterpret_cast<float const*>(x);
  detail::store_output<Epilogue> const output{epilogue};
  if constexpr (multiplies_bfloat16_tiles<Arch> && M > 1)
    detail::multiply_in_tiles<M, K / 2, N, Arch, amx_tiles>(pairs, w, y, output, part);
  else
    detail::multiply<M, K / 2, N, Arch, detail::bfloat16_pair_terms>(pairs, w, y, output, part);
}

/// dw (+)= transposed(x) * dy in floats, as `matmul_weight_gradient`, of pairs of rows: x of M / 2 x K, dy of M / 2 x
/// N, up to a register behind whose ends may be read.
template <int M, int K, int N, bool Accumulate = false, class Arch = default_architecture>
inline void weight_gradient_of_pairs(float const* x, float const* dy, float* dw, share part = {}) {
  constexpr int rows = M / 2 < detail::most_copied_rows ? M / 2 : detail::most_copied_rows;
  auto const add = [&]<int Rows, bool Adds>(std::int64_t from) {
    if constexpr (multiplies_bfloat16_tiles<Arch>)
      detail::weight_gradient_in_tiles<Rows, K, N, Adds, Arch, amx_tiles>(x + from * K, dy + from * N, dw, part);
    else
      matmul_weight_gradient<Rows, K, N, Adds, Arch, detail::bfloat16_pair_terms>(x + from * K, dy + from * N, dw,
                                                                                  store_gradient{dw}, part);
  };
  add.template operator()<rows, Accumulate>(0);
  std::int64_t from = rows;
  if constexpr (M / 2 >= 2 * rows)
    for (; from + rows <= M / 2; from += rows) add.template operator()<rows, true>(from);
  if constexpr (M / 2 % rows != 0) add.template operator()<M / 2 % rows, true>(from);
}

}  // namespace stagecraft::kernels

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
