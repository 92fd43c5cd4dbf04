// SPDX-License-Identifier: BSD-3-Clause
// Random numbers as a function: (seed, stream, counter) to 32 bits, without state. Any part of a sequence can be made
// at any time, by any thread, on any instruction set, with the same bits. Keras counterpart:
// tf.random.stateless_uniform (other bits).
#pragma once

#include <stagecraft/kernels/simd/simd.hpp>

#include <cmath>
#include <cstdint>

namespace stagecraft::kernels {

/// Names one random sequence: `seed` is the user's, `stream` tells the users of one seed apart (which weight, which
/// layer and step). Mixed once into two 32-bit keys.
class random_key {
 public:
  constexpr random_key(std::uint64_t seed, std::uint64_t stream)
      : mixed_(mix64(mix64(seed + 0x9E3779B97F4A7C15U) ^ (stream + 0xD1B54A32D192ED03U))) {}

  [[nodiscard]] constexpr std::uint32_t first() const { return static_cast<std::uint32_t>(mixed_); }
  [[nodiscard]] constexpr std::uint32_t second() const { return static_cast<std::uint32_t>(mixed_ >> 32U); }

  friend constexpr bool operator==(random_key const&, random_key const&) = default;

 private:
  // The finaliser of SplitMix64 (Steele, Lea, Flood 2014; constants by David Stafford).
  static constexpr std::uint64_t mix64(std::uint64_t x) {
    x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9U;
    x = (x ^ (x >> 27U)) * 0x94D049BB133111EBU;
    return x ^ (x >> 31U);
  }

  std::uint64_t mixed_;
};

namespace detail {

/// A bijection of 32 bits, for numbers and for batches of them. Constants: Chris Wellons' search of 2018 to 2022,
/// github.com/skeeto/hash-prospector.
template <class Integer>
[[nodiscard]] constexpr Integer mix32(Integer x) {
  x = (x ^ (x >> 16)) * Integer(std::uint32_t{0x21F0AAADU});
  x = (x ^ (x >> 15)) * Integer(std::uint32_t{0xD35A2D97U});
  return x ^ (x >> 15);
}

/// The second of the two keys for counters whose upper half is `high`.
[[nodiscard]] constexpr std::uint32_t second_key(random_key const& key, std::uint64_t counter) {
  auto const high = static_cast<std::uint32_t>(counter >> 32U);
  return high == 0 ? key.second() : mix32<std::uint32_t>(key.second() + mix32<std::uint32_t>(high));
}

}  // namespace detail

/// 32 random bits: two keyed rounds of a 32-bit mixer over the counter.
[[nodiscard]] constexpr std::uint32_t random_bits(random_key const& key, std::uint64_t counter) {
  auto const low = static_cast<std::uint32_t>(counter);
  return detail::mix32<std::uint32_t>(detail::mix32<std::uint32_t>(low ^ key.first()) +
                                      detail::second_key(key, counter));
}

/// A number in [0, 1) out of 2^24 equidistant ones.
[[nodiscard]] constexpr float random_uniform(random_key const& key, std::uint64_t counter) {
  return static_cast<float>(random_bits(key, counter) >> 8U) * 0x1p-24F;
}

/// A number of mean 0 and standard deviation 1 from the random numbers `counter` and `counter` + 1, by the method of
/// Box and Muller.
[[nodiscard]] inline float box_muller(random_key const& key, std::uint64_t counter) {
  float const u = random_uniform(key, counter), v = random_uniform(key, counter + 1);
  return std::sqrt(-2.0F * std::log(1.0F - u)) * std::cos(6.28318531F * v);
}

/// `random_uniform` for the counters first, first + 1, ... of a whole batch.
template <class Arch = default_architecture>
[[nodiscard]] inline batch<Arch> random_uniform_batch(random_key const& key, std::uint64_t first) {
  using integer = integer_batch<Arch>;
  alignas(64) std::uint32_t ramp[lanes<Arch>];
  for (int lane = 0; lane < lanes<Arch>; ++lane) ramp[lane] = static_cast<std::uint32_t>(lane);
  auto const low = static_cast<std::uint32_t>(first);
  if (low > 0xFFFFFFFFU - static_cast<std::uint32_t>(lanes<Arch>)) {  // the batch crosses into the next upper half
    alignas(64) float values[lanes<Arch>];
    for (int lane = 0; lane < lanes<Arch>; ++lane)
      values[lane] = random_uniform(key, first + static_cast<std::uint64_t>(lane));
    return batch<Arch>::load_aligned(values);
  }
  integer const counters = integer::load_aligned(ramp) + integer(low);
  integer const bits = detail::mix32<integer>(detail::mix32<integer>(counters ^ integer(key.first())) +
                                              integer(detail::second_key(key, first)));
  return xsimd::to_float(bit_cast<std::int32_t>(bits >> 8)) * batch<Arch>(0x1p-24F);
}

/// y[i] = the uniform number of counter first + i.
template <class Arch = default_architecture>
inline void random_uniform_fill(float* y, std::int64_t n, random_key const& key, std::uint64_t first = 0) {
  std::int64_t i = 0;
  for (; i + lanes<Arch> <= n; i += lanes<Arch>)
    random_uniform_batch<Arch>(key, first + static_cast<std::uint64_t>(i)).store_unaligned(y + i);
  if (int const rest = static_cast<int>(n - i); rest > 0)
    store_first(random_uniform_batch<Arch>(key, first + static_cast<std::uint64_t>(i)), y + i, rest);
}

}  // namespace stagecraft::kernels
