// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/kernels/matmul.hpp>
#include <stagecraft/kernels/reference_matmul.hpp>
#include <doctest/doctest.h>

#include "matmul_cases.hpp"

using namespace matmul_cases;
using kernels::packed_matrix;

namespace {

struct rectify {
  template <class Batch>
  Batch operator()(Batch const& x) const {
    return xsimd::max(x, Batch(0.0F));
  }
};

template <int M, int K, int N, class Arch>
void check_matmul() {
  CAPTURE(M);
  CAPTURE(K);
  CAPTURE(N);
  CAPTURE(kernels::lanes<Arch>);
  buffer x(M * K);
  buffer w(K * N);
  buffer packed(packed_matrix<K, N, Arch>::size);
  buffer bias((N + 63) / 64 * 64);
  buffer y(M * N, -1.0F);
  buffer expected(M * N);
  x.fill(1);
  w.fill(2);
  bias.fill(3);
  packed_matrix<K, N, Arch>::pack(w.data(), packed.data());
  kernels::reference::matmul(M, K, N, x.data(), w.data(), expected.data());

  kernels::matmul<M, K, N, Arch>(x.data(), packed.data(), y.data());
  CHECK(first_difference(y.data(), expected.data(), M * N) == -1);
  CHECK(y.guard_is_intact());

  for (int i = 0; i < M * N; ++i) expected.data()[i] += bias.data()[i % N];
  kernels::matmul<M, K, N, Arch>(x.data(), packed.data(), y.data(), kernels::bias_epilogue{bias.data()});
  CHECK(first_difference(y.data(), expected.data(), M * N) == -1);

  buffer before(M * N, -1.0F);
  buffer kept(M * N);
  for (int i = 0; i < M * N; ++i) kept.data()[i] = expected.data()[i];
  for (int i = 0; i < M * N; ++i) expected.data()[i] = expected.data()[i] > 0 ? expected.data()[i] : 0;
  kernels::matmul<M, K, N, Arch>(x.data(), packed.data(), y.data(),
                                 kernels::epilogue_then{kernels::bias_epilogue{bias.data()}, rectify{}});
  CHECK(first_difference(y.data(), expected.data(), M * N) == -1);

  kernels::matmul<M, K, N, Arch>(x.data(), packed.data(), before.data(), y.data(), kernels::bias_epilogue{bias.data()},
                                 rectify{});
  CHECK(first_difference(before.data(), kept.data(), M * N) == -1);
  CHECK(first_difference(y.data(), expected.data(), M * N) == -1);
  CHECK(before.guard_is_intact());
  CHECK(y.guard_is_intact());
}

template <int M, int K, int N, class... Arch>
void check_matmuls() {
  (check_matmul<M, K, N, Arch>(), ...);
}

}  // namespace

TEST_CASE("the product with a packed matrix, its bias and its activation are exact for whole numbers") {
  for_each_shape([]<int M, int K, int N>() { check_matmuls<M, K, N, MATMUL_ARCHITECTURES>(); });
}

TEST_CASE("a product with more steps than are summed at once") {
  check_matmuls<5, 2049, 18, MATMUL_ARCHITECTURES>();
  check_matmuls<1, 2049, 18, MATMUL_ARCHITECTURES>();
}
