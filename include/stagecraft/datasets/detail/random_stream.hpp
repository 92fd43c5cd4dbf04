// SPDX-License-Identifier: BSD-3-Clause
// Random integers for the drawn data sets: the k-th number of a stream is a function of its key and k, in integers
// only, so that it is the same number with every compiler, on every machine.
#pragma once

#include <cstdint>

namespace stagecraft::datasets::detail {

/// Scrambles 64 bits (the finalizer of SplitMix64; Steele, Lea and Flood 2014).
constexpr std::uint64_t scramble(std::uint64_t bits) {
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
  return bits ^ (bits >> 31);
}

class random_stream {
 public:
  /// The stream of sample `sample` in part `part` of a data set with seed `seed`.
  constexpr random_stream(std::uint64_t seed, std::uint64_t part, std::uint64_t sample)
      : state_(scramble(scramble(scramble(seed + step) ^ (part + step)) ^ (sample + step))) {}

  constexpr std::uint64_t bits() { return scramble(state_ += step); }

  /// A number from `low` to `high`, both included.
  constexpr int between(int low, int high) {
    auto const count = static_cast<std::uint64_t>(high - low) + 1;
    return low + static_cast<int>(((bits() >> 32) * count) >> 32);
  }

  /// Bell-shaped around 0 with this standard deviation, never more than 3.5 deviations out: the sum of four uniforms.
  constexpr int around_zero(int deviation) {
    std::uint64_t const word = bits();
    auto const sum = static_cast<int>((word & 0xffff) + (word >> 16 & 0xffff) + (word >> 32 & 0xffff) + (word >> 48));
    return static_cast<int>(static_cast<std::int64_t>(sum - 131070) * deviation / 37837);
  }

  constexpr bool happens(int percent) { return between(1, 100) <= percent; }

 private:
  static constexpr std::uint64_t step = 0x9e3779b97f4a7c15u;
  std::uint64_t state_;
};

}  // namespace stagecraft::datasets::detail
