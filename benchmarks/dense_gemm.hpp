// SPDX-License-Identifier: BSD-3-Clause
// The peer: a dense layer of many rows by hand on a library's matrix products (gemm_libraries.hpp).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "hand_written.hpp"

namespace stagecraft::benchmarks {

/// y = x kernel + bias, its gradients and a step of stochastic gradient descent.
template <class Library>
class dense_gemm {
 public:
  std::vector<float> y;

  dense_gemm() = default;
  dense_gemm(int rows, int inputs, int units, std::vector<float> kernel, std::vector<float> bias)
      : y(static_cast<std::size_t>(rows) * static_cast<std::size_t>(units)),
        rows_(rows),
        inputs_(inputs),
        units_(units),
        kernel_(std::move(kernel)),
        bias_(std::move(bias)),
        of_kernel_(kernel_.size()),
        of_bias_(bias_.size()) {}

  void forward(float const* x) {
    for (int row = 0; row < rows_; ++row) std::copy(bias_.begin(), bias_.end(), y.begin() + row * units_);
    Library::multiply(false, false, rows_, units_, inputs_, x, inputs_, kernel_.data(), units_, 1.0F, y.data());
  }
  void weight_gradient(float const* x, float const* dy) {
    std::fill(of_bias_.begin(), of_bias_.end(), 0.0F);
    Library::multiply(true, false, inputs_, units_, rows_, x, inputs_, dy, units_, 0.0F, of_kernel_.data());
    float* const db = of_bias_.data();
    for (int row = 0; row < rows_; ++row)
      for (int i = 0; i < units_; ++i) db[i] += dy[row * units_ + i];
  }
  /// dx = dy kernel^T + beta dx.
  void input_gradient(float const* dy, float beta, float* dx) const {
    Library::multiply(false, true, rows_, inputs_, units_, dy, units_, kernel_.data(), units_, beta, dx);
  }
  void update() {
    sgd_pass(kernel_.data(), of_kernel_.data(), static_cast<std::int64_t>(kernel_.size()));
    sgd_pass(bias_.data(), of_bias_.data(), static_cast<std::int64_t>(bias_.size()));
  }

 private:
  int rows_ = 0, inputs_ = 0, units_ = 0;
  std::vector<float> kernel_, bias_, of_kernel_, of_bias_;
};

}  // namespace stagecraft::benchmarks
