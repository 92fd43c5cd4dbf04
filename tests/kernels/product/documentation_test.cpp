// SPDX-License-Identifier: BSD-3-Clause
// The kernel that docs/kernels.md shows, with its test.
#include <stagecraft/kernels/simd/simd.hpp>
#include <stagecraft/threads/share.hpp>
#include <doctest/doctest.h>

#include "matmul_cases.hpp"

#include <cstring>

namespace stagecraft::kernels {

/// y(r, c) = factor[c] * x(r, c), for Rows x Columns floats, row by row. y may be x. `factor` is padded to whole
/// registers. Items of `part`: rows.
template <int Rows, int Columns, class Arch = default_architecture>
inline void scale_columns(float const* factor, float const* x, float* y, share part = {}) {
  constexpr int whole = Columns / lanes<Arch> * lanes<Arch>;
  share::range const rows = part.of(Rows);
  for (std::int64_t row = rows.first; row < rows.last; ++row) {
    float const* const from = x + row * Columns;
    float* const to = y + row * Columns;
    auto const scaled = [&](int column, batch<Arch> const& value) {
      return batch<Arch>::load_aligned(factor + column) * value;
    };
    for (int column = 0; column < whole; column += lanes<Arch>)
      scaled(column, batch<Arch>::load_unaligned(from + column)).store_unaligned(to + column);
    if constexpr (whole < Columns)
      store_lanes<Columns - whole>(scaled(whole, load_lanes<Columns - whole, Arch>(from + whole)), to + whole);
  }
}

}  // namespace stagecraft::kernels

namespace stagecraft::kernels::reference {

inline void scale_columns(int rows, int columns, float const* factor, float const* x, double* y) {
  for (int i = 0; i < rows * columns; ++i) y[i] = static_cast<double>(factor[i % columns]) * x[i];
}

}  // namespace stagecraft::kernels::reference

namespace {

using namespace matmul_cases;
using kernels::share;

template <int Rows, int Columns, class Arch>
void check() {
  CAPTURE(Rows);
  CAPTURE(Columns);
  CAPTURE(kernels::lanes<Arch>);
  buffer factor((Columns + 15) / 16 * 16), x(Rows * Columns), y(Rows * Columns), in_parts(Rows * Columns);
  factor.fill(1);
  x.fill(2);
  kernels::scale_columns<Rows, Columns, Arch>(factor.data(), x.data(), y.data());
  std::vector<double> expected(Rows * Columns);
  kernels::reference::scale_columns(Rows, Columns, factor.data(), x.data(), expected.data());
  int wrong = 0;
  for (int i = 0; i < Rows * Columns; ++i) wrong += y.data()[i] != expected[static_cast<std::size_t>(i)];
  CHECK(wrong == 0);
  CHECK(y.guard_is_intact());

  for (int count : {2, 3}) {
    for (int index = count; index-- > 0;)
      kernels::scale_columns<Rows, Columns, Arch>(factor.data(), x.data(), in_parts.data(), share{index, count});
    CHECK(std::memcmp(in_parts.data(), y.data(), sizeof(float) * Rows * Columns) == 0);
  }
}

template <class... Arch>
void check_architectures() {
  (check<1, 1, Arch>(), ...);
  (check<3, 15, Arch>(), ...);
  (check<2, 16, Arch>(), ...);
  (check<7, 17, Arch>(), ...);
  (check<5, 97, Arch>(), ...);
}

}  // namespace

TEST_CASE("the kernel of the documentation") { check_architectures<MATMUL_ARCHITECTURES>(); }
