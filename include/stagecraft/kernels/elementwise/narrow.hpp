// SPDX-License-Identifier: BSD-3-Clause
// Conversions of floats to and from a 16-bit type, float16 or bfloat16, over whole arrays. Keras counterpart: tf.cast.
#pragma once

#include <stagecraft/graph/dtype.hpp>
#include <stagecraft/kernels/simd/narrow_floats.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace stagecraft::kernels {

/// The floats that `lanes` numbers of the type stand for.
template <dtype Type, class Arch = default_architecture>
[[nodiscard]] inline batch<Arch> load_narrow(std::uint16_t const* p) {
  static_assert(is_half(Type));
  if constexpr (Type == dtype::bfloat16)
    return load_bfloat16<Arch>(p);
  else
    return load_halves<Arch>(p);
}
/// Writes each lane as the nearest number of the type, the even one of two; infinity where it is too large.
template <dtype Type, class Arch>
inline void store_narrow(xsimd::batch<float, Arch> const& x, std::uint16_t* p) {
  static_assert(is_half(Type));
  if constexpr (Type == dtype::bfloat16)
    store_bfloat16(x, p);
  else
    store_halves(x, p);
}
/// `load_narrow` and `store_narrow` of the first `count` numbers: nothing after them is read or written.
template <dtype Type, class Arch = default_architecture>
[[nodiscard]] inline batch<Arch> load_first_narrow(std::uint16_t const* p, int count) {
  alignas(64) std::uint16_t numbers[lanes<Arch>] = {};
  std::memcpy(numbers, p, static_cast<std::size_t>(count) * sizeof(std::uint16_t));
  return load_narrow<Type, Arch>(numbers);
}
template <dtype Type, class Arch>
inline void store_first_narrow(xsimd::batch<float, Arch> const& x, std::uint16_t* p, int count) {
  alignas(64) std::uint16_t numbers[lanes<Arch>];
  store_narrow<Type>(x, numbers);
  std::memcpy(p, numbers, static_cast<std::size_t>(count) * sizeof(std::uint16_t));
}

/// y = the floats that the n numbers x stand for.
template <dtype Type, class Arch = default_architecture>
inline void widen(std::uint16_t const* x, float* y, std::int64_t n) {
  std::int64_t i = 0;
  for (; i + lanes<Arch> <= n; i += lanes<Arch>) load_narrow<Type, Arch>(x + i).store_unaligned(y + i);
  if (int const rest = static_cast<int>(n - i); rest > 0)
    store_first<Arch>(load_first_narrow<Type, Arch>(x + i, rest), y + i, rest);
}

/// y = the numbers of the type that are nearest to the n floats x.
template <dtype Type, class Arch = default_architecture>
inline void narrow(float const* x, std::uint16_t* y, std::int64_t n) {
  std::int64_t i = 0;
  for (; i + lanes<Arch> <= n; i += lanes<Arch>) store_narrow<Type>(batch<Arch>::load_unaligned(x + i), y + i);
  if (int const rest = static_cast<int>(n - i); rest > 0)
    store_first_narrow<Type>(load_first<Arch>(x + i, rest), y + i, rest);
}

/// Rounds n floats to the nearest numbers of the type. y may be x.
template <dtype Type, class Arch = default_architecture>
inline void round_to(float const* x, float* y, std::int64_t n) {
  transform<Arch>(
      n,
      [](batch<Arch> const& values) {
        alignas(64) std::uint16_t numbers[lanes<Arch>];
        store_narrow<Type>(values, numbers);
        return load_narrow<Type, Arch>(numbers);
      },
      y, x);
}

/// y += x for n numbers of the type; each sum is rounded.
template <dtype Type, class Arch = default_architecture>
inline void add_narrow(std::uint16_t const* x, std::uint16_t* y, std::int64_t n) {
  std::int64_t i = 0;
  for (; i + lanes<Arch> <= n; i += lanes<Arch>)
    store_narrow<Type>(load_narrow<Type, Arch>(x + i) + load_narrow<Type, Arch>(y + i), y + i);
  if (int const rest = static_cast<int>(n - i); rest > 0)
    store_first_narrow<Type>(load_first_narrow<Type, Arch>(x + i, rest) + load_first_narrow<Type, Arch>(y + i, rest),
                             y + i, rest);
}

}  // namespace stagecraft::kernels
