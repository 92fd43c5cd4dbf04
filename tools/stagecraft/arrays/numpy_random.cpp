// SPDX-License-Identifier: BSD-3-Clause
#include "arrays/numpy_random.hpp"

#include <cmath>

namespace stagecraft::tool {

double numpy_random::uniform() {
  auto const high = bits_() >> 5, low = bits_() >> 6;  // 53 bits
  return (static_cast<double>(high) * 67108864.0 + static_cast<double>(low)) / 9007199254740992.0;
}

double numpy_random::normal() {
  if (has_kept_) {
    has_kept_ = false;
    return kept_;
  }
  for (;;) {  // Marsaglia's polar method, which makes two numbers at a time
    double const x = 2.0 * uniform() - 1.0, y = 2.0 * uniform() - 1.0, square = x * x + y * y;
    if (square >= 1.0 || square == 0.0) continue;
    double const scale = std::sqrt(-2.0 * std::log(square) / square);
    kept_ = scale * x;
    has_kept_ = true;
    return scale * y;
  }
}

numpy_random::integers::integers(numpy_random& from, std::uint64_t last, int bits)
    : from_(from), last_(last), mask_(last), bits_(bits) {
  for (int shift = 1; shift < 64; shift *= 2) mask_ |= mask_ >> shift;
}

std::uint64_t numpy_random::integers::draw() {
  if (bits_ >= 32) return from_.bits_();
  if (left_ == 0) {
    buffer_ = static_cast<std::uint32_t>(from_.bits_());
    left_ = 32 / bits_;
  } else {
    buffer_ >>= bits_;
  }
  --left_;
  return buffer_ & ((std::uint32_t{1} << bits_) - 1);
}

std::uint64_t numpy_random::integers::next() {
  if (last_ == 0) return 0;
  for (;;)
    if (auto const value = draw() & mask_; value <= last_) return value;
}

}  // namespace stagecraft::tool
