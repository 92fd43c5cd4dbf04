// SPDX-License-Identifier: BSD-3-Clause
// Whether there is an infinity or NaN among numbers. Keras counterpart: tf.debugging.check_numerics.
#pragma once

#include <stagecraft/kernels/simd/simd.hpp>

#include <cstdint>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

namespace stagecraft::kernels {

/// What was found.
struct special_values {
  bool infinity = false;
  bool nan = false;

  friend constexpr bool operator==(special_values const&, special_values const&) = default;
  friend constexpr special_values operator|(special_values const& a, special_values const& b) {
    return {a.infinity || b.infinity, a.nan || b.nan};
  }
};

/// Looks at n floats. No floating point operation: no status flag of the processor changes.
template <class Arch = default_architecture>
[[nodiscard]] inline special_values find_special_values(float const* x, std::int64_t n) {
  using integers = xsimd::batch<std::int32_t, Arch>;
  constexpr int width = lanes<Arch>;
  integers const infinite(0x7F800000);
  integers infinities(0), nans(0);
  auto const look_at = [&](batch<Arch> const& values) {
    integers const size = bit_cast<std::int32_t>(values) & integers(0x7FFFFFFF);
    // The sign bit says it: of 0 - 1, and of what is less than a NaN.
    infinities = infinities | ((size ^ infinite) - integers(1));
    nans = nans | (infinite - size);
  };
  std::int64_t i = 0;
  for (; i + width <= n; i += width) look_at(batch<Arch>::load_unaligned(x + i));
  if (int const rest = static_cast<int>(n - i); rest > 0) look_at(load_first<Arch>(x + i, rest));
  return {xsimd::any(infinities < integers(0)), xsimd::any(nans < integers(0))};
}

}  // namespace stagecraft::kernels

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
