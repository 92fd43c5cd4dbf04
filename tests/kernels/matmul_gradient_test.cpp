// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/kernels/matmul_gradient.hpp>
#include <stagecraft/kernels/reference_matmul.hpp>
#include <doctest/doctest.h>

#include "matmul_cases.hpp"

using namespace matmul_cases;
using kernels::packed_matrix;

namespace {

template <int M, int K, int N, class Arch>
void check_input_gradient() {
  buffer dy(M * N);
  buffer w(K * N);
  buffer packed(packed_matrix<K, N, Arch>::size);
  buffer workspace(kernels::input_gradient_workspace<K, N, Arch>);
  buffer dx(M * K, -1.0F);
  buffer expected(M * K);
  dy.fill(1);
  w.fill(2);
  packed_matrix<K, N, Arch>::pack(w.data(), packed.data());
  kernels::reference::matmul_input_gradient(M, K, N, dy.data(), w.data(), expected.data());

  kernels::matmul_input_gradient<M, K, N, false, Arch>(dy.data(), packed.data(), workspace.data(), dx.data());
  CHECK(first_difference(dx.data(), expected.data(), M * K) == -1);
  CHECK(dx.guard_is_intact());
  CHECK(workspace.guard_is_intact());

  for (int i = 0; i < M * K; ++i) expected.data()[i] *= 2;
  kernels::matmul_input_gradient<M, K, N, true, Arch>(dy.data(), packed.data(), workspace.data(), dx.data());
  CHECK(first_difference(dx.data(), expected.data(), M * K) == -1);
  CHECK(dx.guard_is_intact());
}

/// A slow update of the weights, w -= g, as far as the kernel knows.
template <class Arch>
struct subtract_slowly {
  static constexpr bool takes_long = true;
  float* w;

  void operator()(kernels::batch<Arch> const& gradient, int offset) const {
    (kernels::batch<Arch>::load_aligned(w + offset) - gradient).store_aligned(w + offset);
  }
};

template <int M, int K, int N, class Arch>
void check_weight_gradient() {
  using layout = packed_matrix<K, N, Arch>;
  buffer x(M * K);
  buffer dy(M * N);
  buffer dw(layout::size);
  buffer row_major(K * N);
  buffer expected(K * N);
  buffer expected_packed(layout::size);
  x.fill(1);
  dy.fill(2);
  kernels::reference::matmul_weight_gradient(M, K, N, x.data(), dy.data(), expected.data());
  layout::pack(expected.data(), expected_packed.data());

  kernels::matmul_weight_gradient<M, K, N, false, Arch>(x.data(), dy.data(), dw.data());
  CHECK(first_difference(dw.data(), expected_packed.data(), layout::size) == -1);
  CHECK(dw.guard_is_intact());

  for (int i = 0; i < layout::size; ++i) expected_packed.data()[i] *= 2;
  kernels::matmul_weight_gradient<M, K, N, true, Arch>(x.data(), dy.data(), dw.data());
  CHECK(first_difference(dw.data(), expected_packed.data(), layout::size) == -1);

  // An update of the weights instead of a stored gradient: every register once, padding registers left alone.
  buffer w(layout::size);
  layout::pack(expected.data(), w.data());
  kernels::matmul_weight_gradient<M, K, N, false, Arch>(
      x.data(), dy.data(), nullptr, [&](kernels::batch<Arch> const& gradient, int offset) {
        (kernels::batch<Arch>::load_aligned(w.data() + offset) - gradient).store_aligned(w.data() + offset);
      });
  buffer zero(layout::size);
  CHECK(first_difference(w.data(), zero.data(), layout::size) == -1);

  layout::pack(expected.data(), w.data());
  kernels::matmul_weight_gradient<M, K, N, false, Arch>(x.data(), dy.data(), nullptr, subtract_slowly<Arch>{w.data()});
  CHECK(first_difference(w.data(), zero.data(), layout::size) == -1);
}

template <int M, int N, class Arch>
void check_bias_gradient() {
  buffer dy(M * N);
  buffer db((N + 63) / 64 * 64);
  buffer expected((N + 63) / 64 * 64);
  dy.fill(1);
  kernels::reference::bias_gradient(M, N, dy.data(), expected.data());
  kernels::bias_gradient<M, N, false, Arch>(dy.data(), db.data());
  CHECK(first_difference(db.data(), expected.data(), db.size()) == -1);
  for (int i = 0; i < N; ++i) expected.data()[i] *= 2;
  kernels::bias_gradient<M, N, true, Arch>(dy.data(), db.data());
  CHECK(first_difference(db.data(), expected.data(), db.size()) == -1);
  CHECK(db.guard_is_intact());
}

template <int M, int K, int N, class Arch>
void check_gradients() {
  CAPTURE(M);
  CAPTURE(K);
  CAPTURE(N);
  CAPTURE(kernels::lanes<Arch>);
  check_input_gradient<M, K, N, Arch>();
  check_weight_gradient<M, K, N, Arch>();
  check_bias_gradient<M, N, Arch>();
}

template <int M, int K, int N, class... Arch>
void check_all_gradients() {
  (check_gradients<M, K, N, Arch>(), ...);
}

template <class Arch>
void check_transpose() {
  constexpr int n = kernels::lanes<Arch>;
  for (int rows = 1; rows <= n; ++rows) {
    buffer from(n * 20);
    buffer to(n * 20, -1.0F);
    from.fill(5);
    kernels::transpose_block<Arch>(from.data(), 20, rows, to.data(), 20);
    int wrong = 0;
    for (int r = 0; r < n; ++r)
      for (int c = 0; c < n; ++c) {
        wrong += r < rows && to.data()[c * 20 + r] != from.data()[r * 20 + c];
      }
    CHECK(wrong == 0);
    CHECK(to.data()[n] == (n < 20 ? -1.0F : to.data()[n]));
  }
}

template <class... Arch>
void check_transposes() {
  (check_transpose<Arch>(), ...);
}

}  // namespace

TEST_CASE("blocks are transposed in registers") { check_transposes<MATMUL_ARCHITECTURES>(); }

TEST_CASE("the gradients of a product with a packed matrix are exact for whole numbers") {
  for_each_shape([]<int M, int K, int N>() { check_all_gradients<M, K, N, MATMUL_ARCHITECTURES>(); });
}

TEST_CASE("gradients with more rows than are copied, and with more columns than are summed at once") {
  check_all_gradients<517, 9, 20, MATMUL_ARCHITECTURES>();
  check_all_gradients<3, 18, 2049, MATMUL_ARCHITECTURES>();
  check_all_gradients<300, 37, 6, MATMUL_ARCHITECTURES>();
}
