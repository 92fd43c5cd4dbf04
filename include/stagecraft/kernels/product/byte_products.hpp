// SPDX-License-Identifier: BSD-3-Clause
// Products of whole numbers of 8 bits, whose sums are exact in int32: four numbers that are summed one after the other
// take the place of a float, and each step of a product adds all four (AVX-512 VNNI, AVX-VNNI; other instruction sets
// have several instructions for it and the same bits). Everything else is as for floats. Counterpart: QLinearMatMul and
// MatMulInteger of ONNX.
#pragma once

#include <stagecraft/kernels/product/matmul.hpp>
#include <stagecraft/kernels/simd/narrow_floats.hpp>
#include <bit>
#include <cstdint>
#include <cstring>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

namespace stagecraft::kernels {

namespace detail {

/// The terms of a sum of int32, whose bits lie in a register of floats: products of four numbers of 0 to 255 with four
/// of -128 to 127. Where no instruction does both, the numbers with even and with odd places are multiplied as 16 bits.
struct byte_terms {
  template <class Arch>
  [[nodiscard, gnu::always_inline]] static inline xsimd::batch<float, Arch> add(xsimd::batch<float, Arch> const& left,
                                                                                xsimd::batch<float, Arch> const& right,
                                                                                xsimd::batch<float, Arch> const& sum) {
#if defined(__AVX512BW__)
    if constexpr (has_avx512<Arch>) {
      __m512i const x = _mm512_castps_si512(left), w = _mm512_castps_si512(right), before = _mm512_castps_si512(sum);
#if defined(__AVX512VNNI__)
      return _mm512_castsi512_ps(_mm512_dpbusd_epi32(before, x, w));
#else
      __m512i const even = _mm512_madd_epi16(_mm512_and_si512(x, _mm512_set1_epi16(255)),
                                             _mm512_srai_epi16(_mm512_slli_epi16(w, 8), 8)),
                    odd = _mm512_madd_epi16(_mm512_srli_epi16(x, 8), _mm512_srai_epi16(w, 8));
      return _mm512_castsi512_ps(_mm512_add_epi32(before, _mm512_add_epi32(even, odd)));
#endif
    } else
#endif
#if defined(__AVX2__)
        if constexpr (has_avx2<Arch>) {
      __m256i const x = _mm256_castps_si256(left), w = _mm256_castps_si256(right), before = _mm256_castps_si256(sum);
#if defined(__AVXVNNI__)
      return _mm256_castsi256_ps(_mm256_dpbusd_avx_epi32(before, x, w));
#elif defined(__AVX512VNNI__) && defined(__AVX512VL__)
      return _mm256_castsi256_ps(_mm256_dpbusd_epi32(before, x, w));
#else
      __m256i const even = _mm256_madd_epi16(_mm256_and_si256(x, _mm256_set1_epi16(255)),
                                             _mm256_srai_epi16(_mm256_slli_epi16(w, 8), 8)),
                    odd = _mm256_madd_epi16(_mm256_srli_epi16(x, 8), _mm256_srai_epi16(w, 8));
      return _mm256_castsi256_ps(_mm256_add_epi32(before, _mm256_add_epi32(even, odd)));
#endif
    } else
#endif
    {
      using integer = xsimd::batch<std::int32_t, Arch>;
      integer const x = bit_cast<std::int32_t>(left), w = bit_cast<std::int32_t>(right);
      integer const products = (x & integer(255)) * ((w << 24) >> 24) + ((x >> 8) & integer(255)) * ((w << 16) >> 24) +
                               ((x >> 16) & integer(255)) * ((w << 8) >> 24) + ((x >> 24) & integer(255)) * (w >> 24);
      return bit_cast<float>(bit_cast<std::int32_t>(sum) + products);
    }
  }
  template <class Arch>
  [[nodiscard, gnu::always_inline]] static inline xsimd::batch<float, Arch> join(
      xsimd::batch<float, Arch> const& sum, xsimd::batch<float, Arch> const& other) {
    return bit_cast<float>(bit_cast<std::int32_t>(sum) + bit_cast<std::int32_t>(other));
  }
};

/// Writes the numbers of x, which are whole and of 0 to 255, as bytes.
template <class Arch>
[[gnu::always_inline]] inline void store_bytes(xsimd::batch<float, Arch> const& x, std::uint8_t* p) {
#if defined(__AVX512F__)
  if constexpr (has_avx512<Arch>)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(x)));
  else
#endif
#if defined(__AVX2__)
      if constexpr (has_avx2<Arch>) {
    __m256i const whole = _mm256_cvtps_epi32(x);
    __m128i const words = _mm_packus_epi32(_mm256_castsi256_si128(whole), _mm256_extracti128_si256(whole, 1));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(p), _mm_packus_epi16(words, words));
  } else
#endif
  {
    alignas(64) float numbers[lanes<Arch>];
    x.store_aligned(numbers);
    for (int i = 0; i < lanes<Arch>; ++i) p[i] = static_cast<std::uint8_t>(static_cast<std::int32_t>(numbers[i]));
  }
}

/// The nearest whole numbers to x + shift, the even one of two, from 0 to 255.
template <class Arch>
[[nodiscard, gnu::always_inline]] inline batch<Arch> nearest_bytes(batch<Arch> const& x, float shift) {
  batch<Arch> const within = xsimd::min(xsimd::max(x + batch<Arch>(shift), batch<Arch>(0.0F)), batch<Arch>(255.0F));
  // Floats of this size have no fraction: the sum is rounded to one of them.
  return rounded(within + batch<Arch>(0x1.8p23F)) - batch<Arch>(0x1.8p23F);
}

/// Writes the nearest bytes to x + shift, for `count` floats.
template <class Arch>
inline void to_bytes(float const* x, float shift, std::uint8_t* to, std::int64_t count) {
  constexpr int width = lanes<Arch>;
  std::int64_t i = 0;
  for (; i + width <= count; i += width)
    store_bytes<Arch>(nearest_bytes<Arch>(batch<Arch>::load_unaligned(x + i), shift), to + i);
  if (i < count) {
    std::uint8_t numbers[width];
    auto const rest = static_cast<int>(count - i);
    store_bytes<Arch>(nearest_bytes<Arch>(load_first<Arch>(x + i, rest), shift), numbers);
    std::memcpy(to + i, numbers, static_cast<std::size_t>(rest));
  }
}

}  // namespace detail

/// Steps of `numbers` numbers: the last one may have fewer than four, and zeros in the kernel beside them.
[[nodiscard]] constexpr int quads_of(int numbers) { return (numbers + 3) / 4; }

/// Writes `rows` rows of Columns floats as bytes, the nearest to x + shift. Each row has whole steps, the last of which
/// may end with anything.
template <int Columns, class Arch = default_architecture>
inline void rows_to_bytes(float const* x, float shift, std::uint8_t* to, std::int64_t rows) {
  constexpr int distance = 4 * quads_of(Columns);
  if constexpr (Columns % 4 == 0) {
    detail::to_bytes<Arch>(x, shift, to, rows * Columns);
  } else if constexpr (Columns < 128) {  // rows are rounded together: each has few registers
    constexpr int together = 256 / Columns;
    for (std::int64_t row = 0; row < rows; row += together) {
      auto const some = rows - row < together ? rows - row : together;
      std::uint8_t numbers[together * Columns];
      detail::to_bytes<Arch>(x + row * Columns, shift, numbers, some * Columns);
      for (std::int64_t i = 0; i < some; ++i) {
        std::uint8_t* const end = to + (row + i) * distance;
        std::memcpy(end, numbers + i * Columns, Columns);
        std::memset(end + Columns, 0, distance - Columns);
      }
    }
  } else {
    for (std::int64_t row = 0; row < rows; ++row) {
      detail::to_bytes<Arch>(x + row * Columns, shift, to + row * distance, Columns);
      std::memset(to + row * distance + Columns, 0, distance - Columns);
    }
  }
}

/// Floats of a kernel of Groups matrices, K x N each, as steps of four numbers of each run of Run rows, and of the
/// offsets after them.
template <int K, int N, int Run, int Groups, class Arch = default_architecture>
struct byte_kernel {
  static_assert(K % Run == 0);
  using steps = packed_matrix<K / Run * quads_of(Run), N, Arch>;
  static constexpr long long offsets = static_cast<long long>(Groups) * steps::size,
                             floats = offsets + (Groups * N + 127) / 64 * 64;

  /// Makes it of Groups matrices in the layout of products of floats, and of a bias or null: the nearest whole numbers,
  /// of -128 to 127 in the kernel. The input's numbers are `shift` larger when they are multiplied: the offsets, int32,
  /// take that away and add the bias.
  static void pack(float const* w, float const* bias, int shift, float* to) {
    using from = packed_matrix<K, N, Arch>;
    std::memset(to, 0, static_cast<std::size_t>(floats) * sizeof(float));
    for (int group = 0; group < Groups; ++group)
      for (int column = 0; column < N; ++column) {
        std::int64_t sum = 0;
        for (int row = 0; row < K; ++row) {
          auto const number = nearest_whole(w[group * from::size + from::index(row, column)], 127.0F);
          int const step = row / Run * quads_of(Run) + row % Run / 4;
          reinterpret_cast<std::int8_t*>(to + group * steps::size + steps::index(step, column))[row % Run % 4] =
              static_cast<std::int8_t>(number);
          sum += number;
        }
        int const at = group * N + column;
        std::int64_t const sums = (bias != nullptr ? nearest_whole(bias[at], 0x1.fffffep30F) : 0) - shift * sum;
        auto const offset = static_cast<std::int32_t>(sums);  // sums of int32 wrap
        std::memcpy(to + offsets + at, &offset, sizeof offset);
      }
  }

 private:
  /// The nearest whole number from -most - 1 to most; 0 for NaN.
  static std::int32_t nearest_whole(float x, float most) {
    auto const within = static_cast<double>(!(x == x) ? 0.0F : x > most ? most : x < -most - 1 ? -most - 1 : x);
    return static_cast<std::int32_t>(within + 0x1.8p52 - 0x1.8p52);
  }
};

/// Sums of int32, and a number for each column, as floats: rounded once.
struct byte_sums_epilogue {
  float const* offsets;

  template <class Batch>
  [[nodiscard, gnu::always_inline]] inline Batch operator()(Batch const& sum, int column,
                                                            std::int64_t /*element*/) const noexcept {
    return xsimd::to_float(bit_cast<std::int32_t>(sum) +
                           bit_cast<std::int32_t>(Batch::load_unaligned(offsets + column)));
  }
};

/// y = epilogue(x * w + the offsets) in floats, where the sums are exact. x: M rows of K bytes and whole steps; w: a
/// byte_kernel<K, N, K, 1>.
template <int M, int K, int N, class Arch = default_architecture, class Epilogue = no_epilogue>
inline void matmul_of_bytes(std::uint8_t const* x, float const* w, float* y, Epilogue const& epilogue = {},
                            share part = {}) {
  auto const whole = join_epilogues(byte_sums_epilogue{w + byte_kernel<K, N, K, 1, Arch>::offsets}, epilogue);
  detail::multiply<M, quads_of(K), N, Arch, detail::byte_terms>(
      reinterpret_cast<float const*>(x), w, y, detail::store_output<std::remove_cvref_t<decltype(whole)>>{whole}, part);
}

}  // namespace stagecraft::kernels

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
