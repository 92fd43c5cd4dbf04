// SPDX-License-Identifier: BSD-3-Clause
// Buffers for benchmarks of kernels on raw pointers.
#pragma once

#include <cstddef>
#include <new>

namespace stagecraft::benchmarks {

/// Floats at a 64-byte boundary, with 64 readable floats behind them. They start as small numbers, or as `value`.
class aligned_floats {
 public:
  explicit aligned_floats(std::size_t size)
      : data_(static_cast<float*>(::operator new((size + 64) * sizeof(float), std::align_val_t(64)))) {
    for (std::size_t i = 0; i < size + 64; ++i) data_[i] = static_cast<float>(i % 7) * 0.125F - 0.375F;
  }
  aligned_floats(std::size_t size, float value) : aligned_floats(size) {
    for (std::size_t i = 0; i < size + 64; ++i) data_[i] = value;
  }
  ~aligned_floats() { ::operator delete(data_, std::align_val_t(64)); }
  aligned_floats(aligned_floats const&) = delete;
  aligned_floats& operator=(aligned_floats const&) = delete;

  [[nodiscard]] float* data() const noexcept { return data_; }

 private:
  float* data_;
};

}  // namespace stagecraft::benchmarks
