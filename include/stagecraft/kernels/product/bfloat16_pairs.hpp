// SPDX-License-Identifier: BSD-3-Clause
// Products of matrices of bfloat16, where the processor multiplies pairs of them: two numbers that are summed one after
// the other take the place of a float, the first in its lower half, and each step of a product adds both. Everything
// else is as for floats, unless the processor multiplies tiles of pairs. Keras counterpart: tf.matmul of tf.bfloat16.
#pragma once

#include <stagecraft/kernels/elementwise/narrow.hpp>
#include <stagecraft/kernels/product/bfloat16_tiles.hpp>
#include <stagecraft/kernels/product/matmul.hpp>
#include <stagecraft/kernels/product/matmul_gradient.hpp>
#include <stagecraft/kernels/simd/narrow_floats.hpp>
#include <stagecraft/kernels/simd/transpose.hpp>

#include <cstdint>
#include <cstring>
#include <type_traits>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

namespace stagecraft::kernels {

/// True if an architecture has instructions for products of pairs (AVX-512 BF16).
#if defined(__AVX512BF16__)
template <class Arch>
inline constexpr bool multiplies_bfloat16_pairs = has_avx512<Arch>;
#else
template <class Arch>
inline constexpr bool multiplies_bfloat16_pairs = false;
#endif

namespace detail {

/// The terms of a sum: products of pairs.
struct bfloat16_pair_terms : float_terms {
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

/// A register of pairs, each of a lane of `first` and the same lane of `second`.
template <class Arch>
[[nodiscard]] inline batch<Arch> pair_up(batch<Arch> const& first, batch<Arch> const& second) {
#if defined(__AVX512BF16__)
  if constexpr (has_avx512<Arch>) {
    alignas(64) static constexpr std::uint16_t places[32] = {0,  16, 1,  17, 2,  18, 3,  19, 4,  20, 5,
                                                             21, 6,  22, 7,  23, 8,  24, 9,  25, 10, 26,
                                                             11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
    __m512i const both = __builtin_bit_cast(__m512i, _mm512_cvtne2ps_pbh(second, first));
    return _mm512_castsi512_ps(_mm512_permutexvar_epi16(_mm512_load_si512(places), both));
  } else
#endif
  {
    using integer = xsimd::batch<std::int32_t, Arch>;
    alignas(64) std::uint16_t lower[lanes<Arch>], upper[lanes<Arch>];
    store_bfloat16(first, lower);
    store_bfloat16(second, upper);
    integer const low = bit_cast<std::int32_t>(load_bfloat16<Arch>(lower)),
                  high = bit_cast<std::int32_t>(load_bfloat16<Arch>(upper));
    return bit_cast<float>(((low >> 16) & integer(0xFFFF)) | high);
  }
}

}  // namespace detail

/// The number of pairs of `numbers` numbers: the last one may have a zero for its second.
[[nodiscard]] constexpr int pairs_of(int numbers) { return (numbers + 1) / 2; }

namespace detail {

/// `pack_row_pairs` of a matrix whose rows come in runs of Run rows, each of which is paired by itself.
template <int K, int N, int Run, class Arch>
inline void pack_pairs_of_runs(float const* w, float* pairs, share part) {
  static_assert(K % Run == 0);
  constexpr int of_run = pairs_of(Run), all = K / Run * of_run;
  using from = packed_matrix<K, N, Arch>;
  using to = packed_matrix<all, N, Arch>;
  auto const [first, last] = part.of(all);
  for (int panel = 0; panel < from::panels; ++panel)
    for (auto row = static_cast<int>(first); row < last; ++row) {
      int const in_run = row % of_run * 2, upper_row = row / of_run * Run + in_run;
      for (int column = 0; column < from::panel_columns; column += lanes<Arch>) {
        float const* const upper = w + panel * from::panel_stride + upper_row * from::panel_columns + column;
        pair_up<Arch>(batch<Arch>::load_unaligned(upper),
                      in_run + 1 < Run ? batch<Arch>::load_unaligned(upper + from::panel_columns) : batch<Arch>(0.0F))
            .store_unaligned(pairs + panel * to::panel_stride + row * to::panel_columns + column);
      }
    }
}

/// Turns the result of `pack_pairs_of_runs` for a K x N matrix into a packed_matrix<K, pairs_of(N), Arch> of pairs of
/// columns. Some of its padding is not written; the padding of `rows` may be NaN. Items of `part`: pairs of rows.
template <int K, int N, int Run, class Arch>
inline void turn_pairs_of_runs(float const* rows, float* columns, share part) {
  constexpr int of_run = pairs_of(Run), all = K / Run * of_run, width = lanes<Arch>;
  using from = packed_matrix<all, N, Arch>;
  using to = packed_matrix<K, pairs_of(N), Arch>;
  auto const [first, last] = part.of(all);
  for (auto row = static_cast<int>(first); row < last; ++row) {
    int const in_run = row % of_run * 2, upper_row = row / of_run * Run + in_run;
    for (int column = 0; column < N; column += width) {
      std::uint32_t pairs[width];
      std::uint16_t lower[width], upper[width];
      std::memcpy(pairs, rows + from::index(row, column), sizeof pairs);
      if constexpr (N % 2 != 0)
        if (N - column < width) pairs[N - column] = 0;
      for (int i = 0; i < width; ++i) {
        lower[i] = static_cast<std::uint16_t>(pairs[i]);
        upper[i] = static_cast<std::uint16_t>(pairs[i] >> 16U);
      }
      std::memcpy(columns + to::index(upper_row, column / 2), lower, sizeof lower);
      if (in_run + 1 < Run) std::memcpy(columns + to::index(upper_row + 1, column / 2), upper, sizeof upper);
    }
  }
}

/// `pack_pairs_of_runs` of Groups matrices, one after the other.
template <int K, int N, int Run, int Groups, class Arch>
inline void pack_pairs_of_groups(float const* w, float* pairs, share part) {
  for (int group = 0; group < Groups; ++group)
    pack_pairs_of_runs<K, N, Run, Arch>(w + group * packed_matrix<K, N, Arch>::size,
                                        pairs + group * packed_matrix<K / Run * pairs_of(Run), N, Arch>::size, part);
}

}  // namespace detail

/// Packs a packed_matrix<K, N, Arch> of floats into a packed_matrix<pairs_of(K), N, Arch> of pairs of rows. Items of
/// `part`: pairs of rows.
template <int K, int N, class Arch = default_architecture>
inline void pack_row_pairs(float const* w, float* pairs, share part = {}) {
  detail::pack_pairs_of_runs<K, N, K, Arch>(w, pairs, part);
}

/// Transposes a packed_matrix<pairs_of(K), N, Arch> of pairs of rows into pairs of the matrix's columns, a
/// packed_matrix<pairs_of(N), K, Arch> whose padding is not defined. The padding of `rows` may be NaN, as updates
/// without an epsilon leave it. Items of `part`: as many pairs of rows as a register has lanes.
template <int K, int N, class Arch = default_architecture>
inline void transpose_row_pairs(float const* rows, float* columns, share part = {}) {
  using from = packed_matrix<pairs_of(K), N, Arch>;
  using to = packed_matrix<pairs_of(N), K, Arch>;
  constexpr int width = lanes<Arch>;
  auto const [first, last] = part.of((pairs_of(K) + width - 1) / width);
  for (auto block = static_cast<int>(first); block < last; ++block) {
    int const row = block * width;
    for (int column = 0; column < N; column += width) {
      alignas(64) float turned[width * width];  // the numbers of each column, one after the other
      transpose_block<Arch>(rows + from::index(row, column), from::panel_columns, pairs_of(K) - row, turned, width);
      for (int i = 0; i < width && column + i < N; i += 2)
        for (int k = 2 * row, half = 0; half < 2 && k < K; ++half, k += width) {
          auto const* const numbers = reinterpret_cast<std::uint16_t const*>(turned + i * width) + half * width;
          bool const is_single = N % 2 != 0 && column + i + 1 == N;
          detail::pair_up<Arch>(load_bfloat16<Arch>(numbers),
                                is_single ? batch<Arch>(0.0F) : load_bfloat16<Arch>(numbers + 2 * width))
              .store_unaligned(columns + to::index((column + i) / 2, k));
        }
    }
  }
}

namespace detail {

/// Pairs of rows, each of Columns numbers: floats or, as std::uint16_t, bfloat16.
template <int Rows, int Columns, class Arch, class Number>
inline void pair_rows_of(Number const* x, float* pairs, share part) {
  constexpr int width = lanes<Arch>, rest = Columns % width, whole = Columns - rest;
  constexpr bool is_narrow = std::is_same_v<Number, std::uint16_t>;
  auto const load = [](Number const* from) {
    if constexpr (is_narrow)
      return load_bfloat16<Arch>(from);
    else
      return batch<Arch>::load_unaligned(from);
  };
  auto const load_rest = [](Number const* from) {
    if constexpr (is_narrow)
      return load_first_narrow<dtype::bfloat16, Arch>(from, rest);
    else
      return load_first<Arch>(from, rest);
  };
  auto const [first, last] = part.of(pairs_of(Rows));
  for (std::int64_t row = first; row < last; ++row) {
    bool const is_single = Rows % 2 != 0 && 2 * row + 1 == Rows;
    Number const* const upper = x + 2 * row * Columns;
    float* const to = pairs + row * Columns;
    for (int column = 0; column < whole; column += width)
      pair_up<Arch>(load(upper + column), is_single ? batch<Arch>(0.0F) : load(upper + Columns + column))
          .store_unaligned(to + column);
    if constexpr (rest > 0)
      store_lanes<rest>(
          pair_up<Arch>(load_rest(upper + whole), is_single ? batch<Arch>(0.0F) : load_rest(upper + Columns + whole)),
          to + whole);
  }
}

}  // namespace detail

/// Packs Rows x Columns numbers, row by row, of bfloat16, or floats that are rounded to it, into pairs_of(Rows) x
/// Columns pairs of rows. Items of `part`: pairs of rows.
template <int Rows, int Columns, class Arch = default_architecture>
inline void pair_rows(std::uint16_t const* x, float* pairs, share part = {}) {
  detail::pair_rows_of<Rows, Columns, Arch>(x, pairs, part);
}
template <int Rows, int Columns, class Arch = default_architecture>
inline void pair_rows(float const* x, float* pairs, share part = {}) {
  detail::pair_rows_of<Rows, Columns, Arch>(x, pairs, part);
}

/// Pads rows of an odd number of Columns for `matmul_of_pairs`: a zero follows each. Items of `part`: rows.
template <int Rows, int Columns, class Arch = default_architecture>
inline void pad_rows(std::uint16_t const* x, std::uint16_t* padded, share part = {}) {
  auto const [first, last] = part.of(Rows);
  for (std::int64_t row = first; row < last; ++row) {
    std::memcpy(padded + row * (Columns + 1), x + row * Columns, Columns * sizeof(std::uint16_t));
    std::memset(padded + row * (Columns + 1) + Columns, 0, sizeof(std::uint16_t));  // read as a part of a float
  }
}
template <int Rows, int Columns, class Arch = default_architecture>
inline void pad_rows(float const* x, std::uint16_t* padded, share part = {}) {
  auto const [first, last] = part.of(Rows);
  auto const end_row = [](std::uint16_t* row) {  // read as a part of a float
    std::memset(row + Columns, 0, sizeof(std::uint16_t));
  };
  if constexpr (Columns < 128) {  // rows are rounded together: each has fewer numbers than a register, or not many more
    constexpr int together = 256 / Columns;
    for (std::int64_t row = first; row < last; row += together) {
      auto const rows = last - row < together ? last - row : together;
      std::uint16_t numbers[together * Columns];
      narrow<dtype::bfloat16, Arch>(x + row * Columns, numbers, rows * Columns);
      for (std::int64_t i = 0; i < rows; ++i) {
        std::uint16_t* const to = padded + (row + i) * (Columns + 1);
        std::memcpy(to, numbers + i * Columns, Columns * sizeof(std::uint16_t));
        end_row(to);
      }
    }
  } else {
    for (std::int64_t row = first; row < last; ++row) {
      std::uint16_t* const to = padded + row * (Columns + 1);
      narrow<dtype::bfloat16, Arch>(x + row * Columns, to, Columns);
      end_row(to);
    }
  }
}

/// Rounds rows of floats to bfloat16 for `matmul_of_pairs`: a zero follows each row of an odd number of Columns. Items
/// of `part`: rows, or 32 numbers.
template <int Rows, int Columns, class Arch = default_architecture>
inline void narrow_rows(float const* x, std::uint16_t* to, share part = {}) {
  if constexpr (Columns % 2 != 0) {
    pad_rows<Rows, Columns, Arch>(x, to, part);
  } else {
    auto const [first, last] = part.of(std::int64_t{Rows} * Columns, 32);
    narrow<dtype::bfloat16, Arch>(x + first, to + first, last - first);
  }
}

/// y = epilogue(x * w) in floats. x: M x K numbers of bfloat16, row by row, each followed by a zero if K is odd; w:
/// `pack_row_pairs` of K x N. A single row would leave 15 of a tile's 16 rows empty, and reading w is all its work.
template <int M, int K, int N, class Arch = default_architecture, class Epilogue = no_epilogue>
inline void matmul_of_pairs(std::uint16_t const* x, float const* w, float* y, Epilogue const& epilogue = {},
                            share part = {}) {
  auto const* const pairs = reinterpret_cast<float const*>(x);
  detail::store_output<Epilogue> const output{epilogue};
  if constexpr (multiplies_bfloat16_tiles<Arch> && M > 1)
    detail::multiply_in_tiles<M, pairs_of(K), N, Arch, amx_tiles>(pairs, w, y, output, part);
  else
    detail::multiply<M, pairs_of(K), N, Arch, detail::bfloat16_pair_terms>(pairs, w, y, output, part);
}

/// dw (+)= transposed(x) * dy in floats, as `matmul_weight_gradient`, of pairs of rows: x of pairs_of(M) x K, dy
/// of pairs_of(M) x N. Up to a register after their ends may be read.
template <int M, int K, int N, bool Accumulate = false, class Arch = default_architecture>
inline void weight_gradient_of_pairs(float const* x, float const* dy, float* dw, share part = {}) {
  constexpr int pairs = pairs_of(M), rows = pairs < detail::most_copied_rows ? pairs : detail::most_copied_rows;
  auto const add = [&]<int Rows, bool Adds>(std::int64_t from) {
    if constexpr (multiplies_bfloat16_tiles<Arch>)
      detail::weight_gradient_in_tiles<Rows, K, N, Adds, Arch, amx_tiles>(x + from * K, dy + from * N, dw, part);
    else
      matmul_weight_gradient<Rows, K, N, Adds, Arch, detail::bfloat16_pair_terms>(x + from * K, dy + from * N, dw,
                                                                                  store_gradient{dw}, part);
  };
  add.template operator()<rows, Accumulate>(0);
  std::int64_t from = rows;
  if constexpr (pairs >= 2 * rows)
    for (; from + rows <= pairs; from += rows) add.template operator()<rows, true>(from);
  if constexpr (pairs % rows != 0) add.template operator()<pairs % rows, true>(from);
}

}  // namespace stagecraft::kernels

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
