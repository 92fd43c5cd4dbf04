// SPDX-License-Identifier: BSD-3-Clause
// Products that are divided among threads: the same bits, however many there are, and every element written once.
#include <stagecraft/kernels/product/matmul_gradient.hpp>
#include <doctest/doctest.h>

#include <cstring>
#include <functional>

#include "matmul_cases.hpp"

using namespace matmul_cases;
using kernels::packed_matrix;
using kernels::share;

namespace {

/// Numbers whose sums depend on the order of the additions.
void fill_inexactly(buffer& values, unsigned seed) {
  values.fill(seed);
  for (int i = 0; i < values.size(); ++i)
    values.data()[i] = values.data()[i] * 0.37F + static_cast<float>(i % 101) * 0.0113F;
}

/// run(result, part) on the whole and on every part of two to four threads, in the reverse order of the threads.
void check_shares(int size, std::function<void(float* result, share part)> const& run) {
  buffer whole(size, 0.5F);
  run(whole.data(), share{});
  for (int count = 2; count <= 4; ++count) {
    CAPTURE(count);
    buffer parts(size, 0.5F);
    for (int index = count; index-- > 0;) run(parts.data(), share{index, count});
    CHECK(std::memcmp(parts.data(), whole.data(), static_cast<std::size_t>(size) * sizeof(float)) == 0);
    CHECK(parts.guard_is_intact());
  }
}

template <int M, int K, int N, class Arch>
void check_all_shares() {
  CAPTURE(M);
  CAPTURE(K);
  CAPTURE(N);
  CAPTURE(kernels::lanes<Arch>);
  using layout = packed_matrix<K, N, Arch>;
  buffer x(M * K);
  buffer dy(M * N);
  buffer w(K * N);
  buffer packed(layout::size);
  buffer bias((N + 63) / 64 * 64);
  buffer workspace(kernels::input_gradient_workspace<K, N, Arch>);
  fill_inexactly(x, 1);
  fill_inexactly(dy, 2);
  fill_inexactly(w, 3);
  fill_inexactly(bias, 4);
  layout::pack(w.data(), packed.data());

  check_shares(M * N, [&](float* y, share part) {
    kernels::matmul<M, K, N, Arch>(x.data(), packed.data(), y, kernels::bias_epilogue{bias.data()}, part);
  });
  check_shares(M * K, [&](float* dx, share part) {
    kernels::matmul_input_gradient<M, K, N, true, Arch>(dy.data(), packed.data(), workspace.data(), dx, part);
  });
  check_shares(layout::size, [&](float* dw, share part) {
    kernels::matmul_weight_gradient<M, K, N, false, Arch>(x.data(), dy.data(), dw, part);
  });
  check_shares((N + 63) / 64 * 64,
               [&](float* db, share part) { kernels::bias_gradient<M, N, true, Arch>(dy.data(), db, part); });

  // An update of the weights meets each register once.
  buffer visits(layout::size);
  for (int index = 0; index < 3; ++index)
    kernels::matmul_weight_gradient<M, K, N, false, Arch>(
        x.data(), dy.data(), nullptr, [&](kernels::batch<Arch> const&, int offset) { visits.data()[offset] += 1.0F; },
        share{index, 3});
  int wrong = 0;
  for (int row = 0; row < K; ++row)
    for (int column = 0; column < N; column += kernels::lanes<Arch>)
      wrong += visits.data()[layout::index(row, column)] != 1.0F;
  CHECK(wrong == 0);
}

template <int M, int K, int N, class... Arch>
void check_architectures() {
  (check_all_shares<M, K, N, Arch>(), ...);
}

}  // namespace

TEST_CASE("the gradients and products of several threads have the bits of one") {
  check_architectures<1, 37, 130, MATMUL_ARCHITECTURES>();
  check_architectures<32, 20, 10, MATMUL_ARCHITECTURES>();
  check_architectures<13, 129, 200, MATMUL_ARCHITECTURES>();
  check_architectures<29, 50, 33, MATMUL_ARCHITECTURES>();
  check_architectures<3, 2049, 70, MATMUL_ARCHITECTURES>();
  check_architectures<1030, 7, 17, MATMUL_ARCHITECTURES>();
  check_architectures<203, 20, 150, MATMUL_ARCHITECTURES>();  // two and three threads have rows of each panel
}
