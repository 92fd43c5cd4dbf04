// SPDX-License-Identifier: BSD-3-Clause
// What the tests of the matrix products share: the instruction sets and shapes to try, and buffers with a guard behind.
#pragma once

#include <stagecraft/kernels/simd/simd.hpp>
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace matmul_cases {

namespace kernels = stagecraft::kernels;

/// `size` floats, aligned to 64 bytes, with 64 floats of NaN behind, which must survive.
class buffer {
 public:
  explicit buffer(int size, float value = 0.0F)
      : size_(size), storage_(static_cast<std::size_t>(size) + 64 + 16, std::numeric_limits<float>::quiet_NaN()) {
    auto const address = reinterpret_cast<std::uintptr_t>(storage_.data());
    offset_ = (64 - address % 64) % 64 / sizeof(float);
    for (int i = 0; i < size; ++i) data()[i] = value;
  }
  buffer(buffer const&) = delete;
  buffer& operator=(buffer const&) = delete;

  [[nodiscard]] float* data() { return storage_.data() + offset_; }
  [[nodiscard]] int size() const { return size_; }

  /// Whole numbers from -4 to 4: their sums are exact in any order.
  void fill(unsigned seed) {
    for (int i = 0; i < size_; ++i) {
      seed = seed * 1664525U + 1013904223U;
      data()[i] = static_cast<float>(static_cast<int>((seed >> 16U) % 9U) - 4);
    }
  }

  [[nodiscard]] bool guard_is_intact() {
    for (int i = 0; i < 64; ++i)
      if (data()[size_ + i] == data()[size_ + i]) return false;
    return true;
  }

 private:
  int size_;
  std::size_t offset_ = 0;
  std::vector<float> storage_;
};

/// The first index at which a and b differ, or -1.
inline int first_difference(float const* a, float const* b, int size) {
  for (int i = 0; i < size; ++i)
    if (!(a[i] == b[i])) return i;
  return -1;
}

/// The instruction sets that this translation unit's flags allow, or the best of them.
#if defined(STAGECRAFT_TEST_FEWER_MACHINES)
#define MATMUL_ARCHITECTURES kernels::default_architecture
#elif defined(__AVX512BW__)
#define MATMUL_ARCHITECTURES xsimd::sse2, xsimd::fma3<xsimd::avx2>, xsimd::avx512bw
#elif defined(__AVX2__) && defined(__FMA__)
#define MATMUL_ARCHITECTURES xsimd::sse2, xsimd::avx2, xsimd::fma3<xsimd::avx2>
#elif defined(__AVX__)
#define MATMUL_ARCHITECTURES xsimd::sse2, xsimd::avx
#else
#define MATMUL_ARCHITECTURES kernels::default_architecture
#endif

/// Calls test.operator()<M, K, N>() for shapes around the registers' and the tiles' sizes.
template <class Test>
void for_each_shape(Test const& test) {
  test.template operator()<1, 1, 1>();
  test.template operator()<1, 37, 130>();
  test.template operator()<1, 38, 128>();  // panels side by side, two steps of each at once
  test.template operator()<2, 3, 5>();
  test.template operator()<3, 16, 16>();
  test.template operator()<4, 15, 17>();
  test.template operator()<7, 31, 33>();
  test.template operator()<13, 64, 1>();
  test.template operator()<32, 20, 10>();
  test.template operator()<11, 129, 63>();
  test.template operator()<6, 47, 80>();
}

}  // namespace matmul_cases
