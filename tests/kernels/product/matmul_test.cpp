// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/kernels/product/matmul.hpp>
#include <doctest/doctest.h>

#include "matmul_cases.hpp"
#include "reference_matmul.hpp"

using namespace matmul_cases;
using kernels::packed_matrix;

namespace {

struct rectify {
  template <class Batch>
  Batch operator()(Batch const& x) const {
    return xsimd::max(x, Batch(0.0F));
  }
};

/// The kernels of one shape and instruction set. The checks get to know these at run time only, so that a shape costs
/// no more compile time than its kernels.
struct product_kernels {
  int m, k, n;
  int lanes;
  int packed;
  void (*pack)(float const* row_major, float* packed);
  void (*plain)(float const* x, float const* w, float* y);
  void (*with_bias)(float const* x, float const* w, float* y, float const* bias);
  void (*rectified)(float const* x, float const* w, float* y, float const* bias);
  void (*before_and_rectified)(float const* x, float const* w, float* before, float* y, float const* bias);
};

template <int M, int K, int N, class Arch>
constexpr product_kernels products_of = {
    M,
    K,
    N,
    kernels::lanes<Arch>,
    packed_matrix<K, N, Arch>::size,
    &packed_matrix<K, N, Arch>::pack,
    [](float const* x, float const* w, float* y) { kernels::matmul<M, K, N, Arch>(x, w, y); },
    [](float const* x, float const* w, float* y, float const* bias) {
      kernels::matmul<M, K, N, Arch>(x, w, y, kernels::bias_epilogue{bias});
    },
    [](float const* x, float const* w, float* y, float const* bias) {
      kernels::matmul<M, K, N, Arch>(x, w, y, kernels::epilogue_then{kernels::bias_epilogue{bias}, rectify{}});
    },
    [](float const* x, float const* w, float* before, float* y, float const* bias) {
      kernels::matmul<M, K, N, Arch>(x, w, before, y, kernels::bias_epilogue{bias}, rectify{});
    },
};

void check_matmul(product_kernels const& tested) {
  int const m = tested.m, k = tested.k, n = tested.n;
  CAPTURE(m);
  CAPTURE(k);
  CAPTURE(n);
  CAPTURE(tested.lanes);
  buffer x(m * k);
  buffer w(k * n);
  buffer packed(tested.packed);
  buffer bias((n + 63) / 64 * 64);
  buffer y(m * n, -1.0F);
  buffer expected(m * n);
  x.fill(1);
  w.fill(2);
  bias.fill(3);
  tested.pack(w.data(), packed.data());
  kernels::reference::matmul(m, k, n, x.data(), w.data(), expected.data());

  tested.plain(x.data(), packed.data(), y.data());
  CHECK(first_difference(y.data(), expected.data(), m * n) == -1);
  CHECK(y.guard_is_intact());

  for (int i = 0; i < m * n; ++i) expected.data()[i] += bias.data()[i % n];
  tested.with_bias(x.data(), packed.data(), y.data(), bias.data());
  CHECK(first_difference(y.data(), expected.data(), m * n) == -1);

  buffer before(m * n, -1.0F);
  buffer kept(m * n);
  for (int i = 0; i < m * n; ++i) kept.data()[i] = expected.data()[i];
  for (int i = 0; i < m * n; ++i) expected.data()[i] = expected.data()[i] > 0 ? expected.data()[i] : 0;
  tested.rectified(x.data(), packed.data(), y.data(), bias.data());
  CHECK(first_difference(y.data(), expected.data(), m * n) == -1);

  tested.before_and_rectified(x.data(), packed.data(), before.data(), y.data(), bias.data());
  CHECK(first_difference(before.data(), kept.data(), m * n) == -1);
  CHECK(first_difference(y.data(), expected.data(), m * n) == -1);
  CHECK(before.guard_is_intact());
  CHECK(y.guard_is_intact());
}

/// Whether the tiles of so many rows end behind the last one, for few rows and for many.
template <int Rows, class... Arch>
constexpr bool cuts_all_rows = ([] {
  constexpr kernels::detail::row_blocks cut = kernels::detail::cut_rows<Arch>(Rows, 2);
  return cut.row(cut.tiles()) == Rows && cut.height <= kernels::detail::most_tile_rows<Arch>(2);
}() && ...);
static_assert(cuts_all_rows<1, MATMUL_ARCHITECTURES> && cuts_all_rows<13, MATMUL_ARCHITECTURES> &&
              cuts_all_rows<1020, MATMUL_ARCHITECTURES> && cuts_all_rows<1025, MATMUL_ARCHITECTURES> &&
              cuts_all_rows<1200, MATMUL_ARCHITECTURES>);

template <int M, int K, int N, class... Arch>
void check_matmuls() {
  (check_matmul(products_of<M, K, N, Arch>), ...);
}

}  // namespace

TEST_CASE("the product with a packed matrix, its bias and its activation are exact for whole numbers") {
  for_each_shape([]<int M, int K, int N>() { check_matmuls<M, K, N, MATMUL_ARCHITECTURES>(); });
}

TEST_CASE("a product with more steps than are summed at once") {
  check_matmuls<5, 2049, 18, MATMUL_ARCHITECTURES>();
  check_matmuls<1, 2049, 18, MATMUL_ARCHITECTURES>();
}
