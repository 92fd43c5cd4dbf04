// SPDX-License-Identifier: BSD-3-Clause
// Sums and maxima of arrays, and of the rows and columns of a matrix: every size, NaN.
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include <stagecraft/kernels/operations/reduce.hpp>
#include <stagecraft/kernels/reduction.hpp>
#include <doctest/doctest.h>

#include "matmul_cases.hpp"

namespace kernels = stagecraft::kernels;
using matmul_cases::buffer;
using matmul_cases::first_difference;

namespace {

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

template <class Arch>
void check_arrays() {
  CAPTURE(kernels::lanes<Arch>);
  for (int const n : {0, 1, 7, 15, 16, 17, 31, 64, 127, 128, 129, 1000, 70'000}) {
    CAPTURE(n);
    auto const x = std::make_unique<float[]>(static_cast<std::size_t>(n));  // sanitizers watch its end
    double sum = 0;
    float largest = -inf;
    for (int i = 0; i < n; ++i) {
      float& value = x[static_cast<std::size_t>(i)];
      value = static_cast<float>(i * 37 % 101 - 150);  // sums are exact
      sum += value;
      largest = value > largest ? value : largest;
    }
    CHECK(kernels::sum<Arch>(x.get(), n) == sum);
    CHECK(kernels::largest<Arch>(x.get(), n) == largest);
    if (n == 0) continue;
    for (int const place : {0, n / 2, n - 1}) {
      float& value = x[static_cast<std::size_t>(place)];
      float const before = value;
      value = 5;
      CHECK(kernels::largest<Arch>(x.get(), n) == 5);
      value = nan;
      CHECK(std::isnan(kernels::largest<Arch>(x.get(), n)));
      CHECK(std::isnan(kernels::sum<Arch>(x.get(), n)));
      value = before;
    }
  }
}

template <int Rows, int Columns, class Arch>
void check_matrix() {
  CAPTURE(Rows);
  CAPTURE(Columns);
  CAPTURE(kernels::lanes<Arch>);
  buffer x(Rows * Columns);
  x.fill(3);
  std::vector<float> row_sum(Rows), row_max(Rows, -inf), column_sum(Columns), column_max(Columns, -inf);
  for (std::size_t row = 0; row < Rows; ++row)
    for (std::size_t column = 0; column < Columns; ++column) {
      float const value = x.data()[row * Columns + column];
      row_sum[row] += value;
      column_sum[column] += value;
      row_max[row] = std::fmax(row_max[row], value);
      column_max[column] = std::fmax(column_max[column], value);
    }
  using stagecraft::operations::reduction;
  buffer rows[2] = {buffer(Rows), buffer(Rows)}, columns[2] = {buffer(Columns), buffer(Columns)};
  kernels::strided_axes<2, Arch> of_rows, of_columns;
  of_rows.add(Rows, {1, Columns});
  of_rows.add(Columns, {0, 1});
  of_columns.add(Rows, {0, Columns});
  of_columns.add(Columns, {1, 1});
  for (int i = 0; i < 2; ++i) {
    auto const by = i == 0 ? reduction::sum : reduction::max;
    kernels::reduce_axes<Arch>(by, of_rows, rows[i].data(), Rows, x.data());
    kernels::reduce_axes<Arch>(by, of_columns, columns[i].data(), Columns, x.data());
    CHECK(rows[i].guard_is_intact());
    CHECK(columns[i].guard_is_intact());
  }
  CHECK(first_difference(rows[0].data(), row_sum.data(), Rows) == -1);
  CHECK(first_difference(rows[1].data(), row_max.data(), Rows) == -1);
  CHECK(first_difference(columns[0].data(), column_sum.data(), Columns) == -1);
  CHECK(first_difference(columns[1].data(), column_max.data(), Columns) == -1);
  x.data()[Rows * Columns / 2] = nan;
  kernels::reduce_axes<Arch>(reduction::max, of_rows, rows[1].data(), Rows, x.data());
  for (int row = 0; row < Rows; ++row) CHECK(std::isnan(rows[1].data()[row]) == (row == Rows * Columns / 2 / Columns));
}

template <int Rows, int Columns, class... Arch>
void check_matrices() {
  (check_matrix<Rows, Columns, Arch>(), ...);
}

template <class... Arch>
void check_arrays_of_architectures() {
  (check_arrays<Arch>(), ...);
}

}  // namespace

TEST_CASE("sums and maxima of arrays") { check_arrays_of_architectures<MATMUL_ARCHITECTURES>(); }

TEST_CASE("sums and maxima of rows and columns") {
  check_matrices<1, 1, MATMUL_ARCHITECTURES>();
  check_matrices<7, 10, MATMUL_ARCHITECTURES>();
  check_matrices<33, 17, MATMUL_ARCHITECTURES>();
  check_matrices<5, 64, MATMUL_ARCHITECTURES>();
  check_matrices<40, 131, MATMUL_ARCHITECTURES>();
}
