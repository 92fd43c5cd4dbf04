// SPDX-License-Identifier: BSD-3-Clause
// Parts of a register whose number of lanes is a constant, for code that keeps few numbers in registers, and blocks of
// a few registers of channels whose last one is such a part, for kernels that do the same at each position of a sample.
#pragma once

#include <stagecraft/kernels/simd/simd.hpp>

#include <type_traits>

namespace stagecraft::kernels::detail {

/// Calls `function.operator()<Vectors, Last>(first)` for blocks of channels: Vectors registers, of which the last one
/// holds Last channels.
template <int Channels, class Arch, class Function>
[[gnu::always_inline]] inline void for_channel_blocks(Function const& function) {
  constexpr int width = lanes<Arch>;
  constexpr int block = 4 * width;
  constexpr int blocks = Channels / block;
  constexpr int rest = Channels - blocks * block;
  for (int i = 0; i < blocks; ++i) function.template operator()<4, width>(i * block);
  if constexpr (rest > 0) {
    constexpr int vectors = (rest + width - 1) / width;
    function.template operator()<vectors, rest - (vectors - 1) * width>(blocks * block);
  }
}

/// Vectors registers of channels at p, the last of which holds Last channels.
template <int Vectors, int Last, class Arch>
struct channel_block {
  batch<Arch> values[Vectors];

  [[nodiscard]] static channel_block load(float const* p) {
    channel_block block;
#pragma GCC unroll 4
    for (int i = 0; i + 1 < Vectors; ++i) block.values[i] = batch<Arch>::load_unaligned(p + i * lanes<Arch>);
    block.values[Vectors - 1] = load_lanes<Last, Arch>(p + (Vectors - 1) * lanes<Arch>);
    return block;
  }
  [[nodiscard]] static channel_block of(float value) {
    channel_block block;
#pragma GCC unroll 4
    for (auto& each : block.values) each = batch<Arch>(value);
    return block;
  }
  void store(float* p) const {
#pragma GCC unroll 4
    for (int i = 0; i + 1 < Vectors; ++i) values[i].store_unaligned(p + i * lanes<Arch>);
    store_lanes<Last>(values[Vectors - 1], p + (Vectors - 1) * lanes<Arch>);
  }
  /// values[i] = function(values[i], other.values[i]...)
  template <class Function, class... Other>
  void combine(Function const& function, Other const&... other) {
#pragma GCC unroll 4
    for (int i = 0; i < Vectors; ++i) values[i] = function(values[i], other.values[i]...);
  }
};

}  // namespace stagecraft::kernels::detail

// GCC 12 warns of the undefined operand inside its own AVX-512 intrinsics, where they are inlined (see simd.hpp).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

namespace stagecraft::kernels {

namespace detail {

#if defined(__AVX2__) && defined(__FMA__)
/// True for the instruction sets of eight lanes that fuse products and sums.
template <class Arch>
inline constexpr bool halves_eight_lanes = has_avx2<Arch> && std::is_base_of_v<xsimd::fma3<xsimd::avx2>, Arch>;

/// Four floats, whose products and sums are fused as those of eight are.
struct four_floats {
  __m128 data;

  four_floats() = default;
  [[gnu::always_inline]] inline explicit four_floats(__m128 of) : data(of) {}
  [[gnu::always_inline]] inline explicit four_floats(float of) : data(_mm_set1_ps(of)) {}
  [[nodiscard, gnu::always_inline]] static inline four_floats load_unaligned(float const* p) {
    return four_floats(_mm_loadu_ps(p));
  }
  [[nodiscard, gnu::always_inline]] friend inline four_floats operator+(four_floats const& a, four_floats const& b) {
    return four_floats(_mm_add_ps(a.data, b.data));
  }
};

template <class Arch>
using half_register_of = std::conditional_t<has_avx512<Arch>, batch<xsimd::fma3<xsimd::avx2>>,
                                            std::conditional_t<halves_eight_lanes<Arch>, four_floats, batch<Arch>>>;
#else
template <class Arch>
using half_register_of = batch<Arch>;
#endif

}  // namespace detail

#if defined(__AVX2__) && defined(__FMA__)
/// Returns a * b + c, rounded once.
[[nodiscard, gnu::always_inline]] inline detail::four_floats fused_multiply_add(detail::four_floats const& a,
                                                                                detail::four_floats const& b,
                                                                                detail::four_floats const& c) {
  return detail::four_floats(_mm_fmadd_ps(a.data, b.data, c.data));
}
#endif

/// Half a register; a whole one where the instruction set has no halves.
template <class Arch>
using half_register = detail::half_register_of<Arch>;

/// True if few lanes fit into half a register: that takes half the bytes of weights, and no mask.
template <class Arch>
inline constexpr bool has_half_registers = !std::is_same_v<half_register<Arch>, batch<Arch>>;

/// A register with the lanes of half a register; the other lanes are unspecified.
template <class Arch>
[[nodiscard, gnu::always_inline]] inline batch<Arch> widened(half_register<Arch> const& x) {
#if defined(__AVX512F__)
  if constexpr (has_avx512<Arch>)
    return _mm512_castps256_ps512(x);
  else
#endif
#if defined(__AVX2__) && defined(__FMA__)
      if constexpr (detail::halves_eight_lanes<Arch>)
    return _mm256_castps128_ps256(x.data);
  else
#endif
    return x;
}

/// The first lanes of a register, which takes no instruction.
template <class Arch>
[[nodiscard, gnu::always_inline]] inline half_register<Arch> first_half(batch<Arch> const& x) {
#if defined(__AVX512F__)
  if constexpr (has_avx512<Arch>)
    return _mm512_castps512_ps256(x);
  else
#endif
#if defined(__AVX2__) && defined(__FMA__)
      if constexpr (detail::halves_eight_lanes<Arch>)
    return detail::four_floats(_mm256_castps256_ps128(x));
  else
#endif
    return x;
}

/// Copies Count floats that have just been stored in registers of Arch. Loads of the same width read them from those
/// stores; wider ones, as std::copy may have, wait until all of them are in the cache.
template <class Arch, long long Count>
[[gnu::always_inline]] inline void copy_stored(float const* from, float* to) {
  constexpr int width = lanes<Arch>;
  constexpr long long whole = Count / width * width;
  for (long long i = 0; i < whole; i += width) batch<Arch>::load_unaligned(from + i).store_unaligned(to + i);
  if constexpr (constexpr int rest = static_cast<int>(Count - whole); rest > 0)
    store_lanes<rest>(load_lanes<rest, Arch>(from + whole), to + whole);
}

}  // namespace stagecraft::kernels

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
