// SPDX-License-Identifier: BSD-3-Clause
// Matrix products as plain loops over row-major matrices, summed in double precision: what the fast ones are tested
// against.
#pragma once

namespace stagecraft::kernels::reference {

/// y = x * w. x: M x K, w: K x N, y: M x N.
inline void matmul(int m, int k, int n, float const* x, float const* w, float* y) {
  for (int row = 0; row < m; ++row)
    for (int column = 0; column < n; ++column) {
      double sum = 0;
      for (int s = 0; s < k; ++s) sum += static_cast<double>(x[row * k + s]) * w[s * n + column];
      y[row * n + column] = static_cast<float>(sum);
    }
}

/// dx = dy * transposed(w). dy: M x N, w: K x N, dx: M x K.
inline void matmul_input_gradient(int m, int k, int n, float const* dy, float const* w, float* dx) {
  for (int row = 0; row < m; ++row)
    for (int column = 0; column < k; ++column) {
      double sum = 0;
      for (int s = 0; s < n; ++s) sum += static_cast<double>(dy[row * n + s]) * w[column * n + s];
      dx[row * k + column] = static_cast<float>(sum);
    }
}

/// dw = transposed(x) * dy. x: M x K, dy: M x N, dw: K x N.
inline void matmul_weight_gradient(int m, int k, int n, float const* x, float const* dy, float* dw) {
  for (int row = 0; row < k; ++row)
    for (int column = 0; column < n; ++column) {
      double sum = 0;
      for (int s = 0; s < m; ++s) sum += static_cast<double>(x[s * k + row]) * dy[s * n + column];
      dw[row * n + column] = static_cast<float>(sum);
    }
}

/// db = the sums of dy's columns. dy: M x N, db: N.
inline void bias_gradient(int m, int n, float const* dy, float* db) {
  for (int column = 0; column < n; ++column) {
    double sum = 0;
    for (int row = 0; row < m; ++row) sum += dy[row * n + column];
    db[column] = static_cast<float>(sum);
  }
}

}  // namespace stagecraft::kernels::reference
