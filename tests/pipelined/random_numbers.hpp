// SPDX-License-Identifier: BSD-3-Clause
// Numbers drawn at compile time, the same ones in every program.
#pragma once

namespace random_runs {

class random_numbers {
 public:
  constexpr explicit random_numbers(unsigned seed) : state_(seed * 2654435761U + 12345U) { below(2); }

  /// From 0 to bound - 1.
  constexpr int below(int bound) {
    state_ += 0x9E3779B9U;
    unsigned z = state_;
    z = (z ^ (z >> 16U)) * 0x85EBCA6BU;
    z = (z ^ (z >> 13U)) * 0xC2B2AE35U;
    z ^= z >> 16U;
    return static_cast<int>(z % static_cast<unsigned>(bound));
  }
  constexpr int from_to(int first, int last) { return first + below(last - first + 1); }
  constexpr bool one_of(int chances) { return below(chances) == 0; }

 private:
  unsigned state_;
};

}  // namespace random_runs
