// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/kernels/product/matmul_gradient.hpp>
#include <doctest/doctest.h>

#include "matmul_cases.hpp"
#include "reference_matmul.hpp"

using namespace matmul_cases;
using kernels::packed_matrix;

namespace {

/// A slow update of the weights, w -= g, as far as the kernel knows.
template <class Arch>
struct subtract_slowly {
  static constexpr bool takes_long = true;
  float* w;

  void operator()(kernels::batch<Arch> const& gradient, int offset) const {
    (kernels::batch<Arch>::load_aligned(w + offset) - gradient).store_aligned(w + offset);
  }
};

/// The kernels of one shape and instruction set. The checks get to know these at run time only, so that a shape costs
/// no more compile time than its kernels.
struct gradient_kernels {
  int m, k, n;
  int lanes;
  int packed;
  int workspace;
  void (*pack)(float const* row_major, float* packed);
  void (*input)(bool accumulate, float const* dy, float const* w, float* workspace, float* dx);
  void (*weights)(bool accumulate, float const* x, float const* dy, float* dw);
  void (*update)(bool slowly, float const* x, float const* dy, float* w);
  void (*bias)(bool accumulate, float const* dy, float* db);
};

template <int M, int K, int N, class Arch>
constexpr gradient_kernels gradients_of = {
    M,
    K,
    N,
    kernels::lanes<Arch>,
    packed_matrix<K, N, Arch>::size,
    static_cast<int>(kernels::input_gradient_workspace<K, N, Arch>),
    &packed_matrix<K, N, Arch>::pack,
    [](bool accumulate, float const* dy, float const* w, float* workspace, float* dx) {
      if (accumulate)
        kernels::matmul_input_gradient<M, K, N, true, Arch>(dy, w, workspace, dx);
      else
        kernels::matmul_input_gradient<M, K, N, false, Arch>(dy, w, workspace, dx);
    },
    [](bool accumulate, float const* x, float const* dy, float* dw) {
      if (accumulate)
        kernels::matmul_weight_gradient<M, K, N, true, Arch>(x, dy, dw);
      else
        kernels::matmul_weight_gradient<M, K, N, false, Arch>(x, dy, dw);
    },
    [](bool slowly, float const* x, float const* dy, float* w) {
      subtract_slowly<Arch> const subtract{w};
      if (slowly)
        kernels::matmul_weight_gradient<M, K, N, false, Arch>(x, dy, nullptr, subtract);
      else
        kernels::matmul_weight_gradient<M, K, N, false, Arch>(
            x, dy, nullptr, [&](kernels::batch<Arch> const& gradient, int offset) { subtract(gradient, offset); });
    },
    [](bool accumulate, float const* dy, float* db) {
      if (accumulate)
        kernels::bias_gradient<M, N, true, Arch>(dy, db);
      else
        kernels::bias_gradient<M, N, false, Arch>(dy, db);
    },
};

void check_input_gradient(gradient_kernels const& tested) {
  int const m = tested.m, k = tested.k, n = tested.n;
  buffer dy(m * n);
  buffer w(k * n);
  buffer packed(tested.packed);
  buffer workspace(tested.workspace);
  buffer dx(m * k, -1.0F);
  buffer expected(m * k);
  dy.fill(1);
  w.fill(2);
  tested.pack(w.data(), packed.data());
  kernels::reference::matmul_input_gradient(m, k, n, dy.data(), w.data(), expected.data());

  tested.input(false, dy.data(), packed.data(), workspace.data(), dx.data());
  CHECK(first_difference(dx.data(), expected.data(), m * k) == -1);
  CHECK(dx.guard_is_intact());
  CHECK(workspace.guard_is_intact());

  for (int i = 0; i < m * k; ++i) expected.data()[i] *= 2;
  tested.input(true, dy.data(), packed.data(), workspace.data(), dx.data());
  CHECK(first_difference(dx.data(), expected.data(), m * k) == -1);
  CHECK(dx.guard_is_intact());
}

void check_weight_gradient(gradient_kernels const& tested) {
  int const m = tested.m, k = tested.k, n = tested.n;
  buffer x(m * k);
  buffer dy(m * n);
  buffer dw(tested.packed);
  buffer expected(k * n);
  buffer expected_packed(tested.packed);
  x.fill(1);
  dy.fill(2);
  kernels::reference::matmul_weight_gradient(m, k, n, x.data(), dy.data(), expected.data());
  tested.pack(expected.data(), expected_packed.data());

  tested.weights(false, x.data(), dy.data(), dw.data());
  CHECK(first_difference(dw.data(), expected_packed.data(), tested.packed) == -1);
  CHECK(dw.guard_is_intact());

  for (int i = 0; i < tested.packed; ++i) expected_packed.data()[i] *= 2;
  tested.weights(true, x.data(), dy.data(), dw.data());
  CHECK(first_difference(dw.data(), expected_packed.data(), tested.packed) == -1);

  // An update of the weights instead of a stored gradient: every register once, padding registers left alone.
  buffer w(tested.packed);
  buffer zero(tested.packed);
  for (bool const slowly : {false, true}) {
    tested.pack(expected.data(), w.data());
    tested.update(slowly, x.data(), dy.data(), w.data());
    CHECK(first_difference(w.data(), zero.data(), tested.packed) == -1);
  }
}

void check_bias_gradient(gradient_kernels const& tested) {
  int const n = tested.n;
  buffer dy(tested.m * n);
  buffer db((n + 63) / 64 * 64);
  buffer expected((n + 63) / 64 * 64);
  dy.fill(1);
  kernels::reference::bias_gradient(tested.m, n, dy.data(), expected.data());
  tested.bias(false, dy.data(), db.data());
  CHECK(first_difference(db.data(), expected.data(), db.size()) == -1);
  for (int i = 0; i < n; ++i) expected.data()[i] *= 2;
  tested.bias(true, dy.data(), db.data());
  CHECK(first_difference(db.data(), expected.data(), db.size()) == -1);
  CHECK(db.guard_is_intact());
}

void check_gradients(gradient_kernels const& tested) {
  CAPTURE(tested.m);
  CAPTURE(tested.k);
  CAPTURE(tested.n);
  CAPTURE(tested.lanes);
  check_input_gradient(tested);
  check_weight_gradient(tested);
  check_bias_gradient(tested);
}

template <int M, int K, int N, class... Arch>
void check_all_gradients() {
  (check_gradients(gradients_of<M, K, N, Arch>), ...);
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

TEST_CASE("a weight gradient of many rows that is handed on has the bits of one that is stored") {
  constexpr int m = 600, k = 37, n = 20;
  using layout = kernels::packed_matrix<k, n>;
  buffer x(m * k), dy(m * n), stored(layout::size), sums(layout::size), handed_on(layout::size);
  x.fill(1);
  dy.fill(2);
  for (int i = 0; i < m * k; ++i) x.data()[i] += 0.1F;
  kernels::matmul_weight_gradient<m, k, n>(x.data(), dy.data(), stored.data());
  static_assert(kernels::weight_gradient_workspace<m, k, n> == layout::size);
  kernels::matmul_weight_gradient_of_rows<m, k, n, false>(x.data(), dy.data(), sums.data(),
                                                          kernels::store_gradient{handed_on.data()});
  CHECK(first_difference(stored.data(), handed_on.data(), layout::size) == -1);
}
