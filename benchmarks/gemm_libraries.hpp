// SPDX-License-Identifier: BSD-3-Clause
// The matrix products of OpenBLAS and of oneDNN, called in one way.
#pragma once

#if defined(STAGECRAFT_BENCHMARK_OPENBLAS)
#include <cblas.h>
#endif
#if defined(STAGECRAFT_BENCHMARK_ONEDNN)
#include <oneapi/dnnl/dnnl.h>
#endif

namespace stagecraft::benchmarks {

#if defined(STAGECRAFT_BENCHMARK_OPENBLAS)
struct openblas {
  /// c = a b + beta c, row-major; the rows of c are ldc floats apart, or n if it is 0.
  static void multiply(bool transposed_a, bool transposed_b, int m, int n, int k, float const* a, int lda,
                       float const* b, int ldb, float beta, float* c, int ldc = 0) {
    cblas_sgemm(CblasRowMajor, transposed_a ? CblasTrans : CblasNoTrans, transposed_b ? CblasTrans : CblasNoTrans, m, n,
                k, 1.0F, a, lda, b, ldb, beta, c, ldc == 0 ? n : ldc);
  }
  /// y += x b for one row x of k floats.
  static void multiply_row(int k, int n, float const* x, float const* b, float* y) {
    cblas_sgemv(CblasRowMajor, CblasTrans, k, n, 1.0F, b, n, x, 1, 1.0F, y, 1);
  }
};
#endif

#if defined(STAGECRAFT_BENCHMARK_ONEDNN)
struct onednn_sgemm {
  /// c = a b + beta c, row-major; the rows of c are ldc floats apart, or n if it is 0.
  static void multiply(bool transposed_a, bool transposed_b, int m, int n, int k, float const* a, int lda,
                       float const* b, int ldb, float beta, float* c, int ldc = 0) {
    dnnl_sgemm(transposed_a ? 'T' : 'N', transposed_b ? 'T' : 'N', m, n, k, 1.0F, a, lda, b, ldb, beta, c,
               ldc == 0 ? n : ldc);
  }
  /// y += x b for one row x of k floats.
  static void multiply_row(int k, int n, float const* x, float const* b, float* y) {
    multiply(false, false, 1, n, k, x, k, b, n, 1.0F, y);
  }
};
#endif

}  // namespace stagecraft::benchmarks
