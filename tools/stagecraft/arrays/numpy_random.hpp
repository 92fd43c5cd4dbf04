// SPDX-License-Identifier: BSD-3-Clause
// The random numbers of np.random, with the bits of numpy.random.RandomState.
#pragma once

#include <cstdint>
#include <random>

namespace stagecraft::tool {

/// NumPy's legacy generator, as after `np.random.seed(seed)`.
class numpy_random {
 public:
  explicit numpy_random(std::uint32_t seed = 0) : bits_(seed) {}

  /// Draws a number from [0, 1): np.random.rand.
  [[nodiscard]] double uniform();
  /// Draws from the normal distribution with mean 0 and standard deviation 1: np.random.randn.
  [[nodiscard]] double normal();
  /// Draws whole numbers from 0 to `last`, as one call of randint does for an array of a type with `bits` bits.
  class integers {
   public:
    /// `bits`: 1, 8, 16, 32, or 64, of which no more than 32 are drawn: `last` is below 2^32.
    integers(numpy_random& from, std::uint64_t last, int bits);
    [[nodiscard]] std::uint64_t next();

   private:
    [[nodiscard]] std::uint64_t draw();

    numpy_random& from_;
    std::uint64_t last_, mask_;
    int bits_, left_ = 0;
    std::uint32_t buffer_ = 0;
  };

 private:
  std::mt19937 bits_;
  double kept_ = 0;
  bool has_kept_ = false;
};

}  // namespace stagecraft::tool
