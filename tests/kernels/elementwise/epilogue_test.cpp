// SPDX-License-Identifier: BSD-3-Clause
// The parts of epilogues, alone and composed, against the same work done after the product.
#include <stagecraft/kernels/elementwise/activation.hpp>
#include <stagecraft/kernels/elementwise/epilogue.hpp>
#include <stagecraft/kernels/product/matmul.hpp>
#include <doctest/doctest.h>

#include <cstring>

#include "../product/matmul_cases.hpp"

using namespace matmul_cases;
using kernels::epilogue_then;
using kernels::packed_matrix;

namespace {

template <class Arch>
struct rectify {
  using value = kernels::batch<Arch>;
  value operator()(value const& x) const { return kernels::activation_function<stagecraft::relu, Arch>::forward(x); }
};

template <int M, int K, int N, class Arch>
void check_epilogues() {
  CAPTURE(M);
  CAPTURE(K);
  CAPTURE(N);
  CAPTURE(kernels::lanes<Arch>);
  buffer x(M * K);
  buffer w(K * N);
  buffer packed(packed_matrix<K, N, Arch>::size);
  buffer bias((N + 63) / 64 * 64);
  buffer residual(M * N);
  buffer y(M * N, -1.0F);
  buffer expected(M * N);
  x.fill(1);
  w.fill(2);
  bias.fill(3);
  residual.fill(4);
  packed_matrix<K, N, Arch>::pack(w.data(), packed.data());
  auto const check = [&](auto const& epilogue) {
    for (int index = 0; index < 2; ++index)
      kernels::matmul<M, K, N, Arch>(x.data(), packed.data(), y.data(), epilogue, kernels::share{index, 2});
    CHECK(first_difference(y.data(), expected.data(), M * N) == -1);
    CHECK(y.guard_is_intact());
  };

  kernels::matmul<M, K, N, Arch>(x.data(), packed.data(), expected.data());
  for (int i = 0; i < M * N; ++i) expected.data()[i] += residual.data()[i];
  check(kernels::residual_epilogue{residual.data()});

  for (int i = 0; i < M * N; ++i) expected.data()[i] += bias.data()[i % N];
  check(epilogue_then{kernels::residual_epilogue{residual.data()}, kernels::bias_epilogue{bias.data()}});

  kernels::activation_forward<stagecraft::relu, Arch>(expected.data(), expected.data(), M * N);
  epilogue_then const rectified{
      epilogue_then{kernels::bias_epilogue{bias.data()}, kernels::residual_epilogue{residual.data()}}, rectify<Arch>{}};
  check(rectified);

  // The result may hold the residual itself.
  kernels::matmul<M, K, N, Arch>(x.data(), packed.data(), expected.data());
  for (int i = 0; i < M * N; ++i) expected.data()[i] += residual.data()[i];
  if (K <= 1024) {
    kernels::matmul<M, K, N, Arch>(x.data(), packed.data(), residual.data(),
                                   kernels::residual_epilogue{residual.data()});
    CHECK(first_difference(residual.data(), expected.data(), M * N) == -1);
  }
}

template <int M, int K, int N, class... Arch>
void check_architectures() {
  (check_epilogues<M, K, N, Arch>(), ...);
}

}  // namespace

TEST_CASE("bias, residual and activation of the sums are those of the stored product") {
  check_architectures<1, 5, 17, MATMUL_ARCHITECTURES>();
  check_architectures<7, 31, 70, MATMUL_ARCHITECTURES>();
  check_architectures<20, 1030, 10, MATMUL_ARCHITECTURES>();
}
