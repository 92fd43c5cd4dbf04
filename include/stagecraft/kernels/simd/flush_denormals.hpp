// SPDX-License-Identifier: BSD-3-Clause
// Arithmetic without denormal numbers, which processors treat a hundred times as slowly as others.
#pragma once

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace stagecraft::kernels {

/// While it lives, numbers below 2^-126 in size are 0 in the arithmetic of the calling thread: results as well as
/// operands. An optimizer's state decays into them where gradients stay 0. TensorFlow's threads do the same. Without an
/// effect on processors other than x86.
class flush_denormals {
 public:
#if defined(__SSE2__)
  flush_denormals() : before_(_mm_getcsr()) { _mm_setcsr(before_ | flush_to_zero | denormals_are_zero); }
  ~flush_denormals() { _mm_setcsr(before_); }
#else
  flush_denormals() {}
  ~flush_denormals() {}
#endif
  flush_denormals(flush_denormals const&) = delete;
  flush_denormals& operator=(flush_denormals const&) = delete;

#if defined(__SSE2__)
 private:
  static constexpr unsigned flush_to_zero = 0x8000, denormals_are_zero = 0x0040;

  unsigned before_;
#endif
};

}  // namespace stagecraft::kernels
