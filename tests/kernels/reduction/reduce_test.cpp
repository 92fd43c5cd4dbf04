// SPDX-License-Identifier: BSD-3-Clause
// Sums and maxima of arrays, rows and columns: every size, NaN.
#include <cmath>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include <stagecraft/kernels/reduction/reduce.hpp>
#include <doctest/doctest.h>

#include "../product/matmul_cases.hpp"

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

template <class Arch>
void check_matrix(int rows, int columns) {
  CAPTURE(rows);
  CAPTURE(columns);
  CAPTURE(kernels::lanes<Arch>);
  buffer x(rows * columns);
  x.fill(3);
  auto const numbers = [](int count, float value) {
    return std::vector<float>(static_cast<std::size_t>(count), value);
  };
  auto row_sum = numbers(rows, 0), row_max = numbers(rows, -inf), column_sum = numbers(columns, 0),
       column_max = numbers(columns, -inf);
  for (int i = 0; i < rows * columns; ++i) {
    auto const row = static_cast<std::size_t>(i / columns), column = static_cast<std::size_t>(i % columns);
    float const value = x.data()[i];
    row_sum[row] += value;
    column_sum[column] += value;
    row_max[row] = std::fmax(row_max[row], value);
    column_max[column] = std::fmax(column_max[column], value);
  }
  kernels::strided_axes<2, Arch> along_rows, along_columns;
  along_rows.add(rows, {1, columns});
  along_rows.add(columns, {0, 1});
  along_columns.add(rows, {0, columns});
  along_columns.add(columns, {1, 1});
  using enum stagecraft::operations::reduction;
  auto const check = [&](stagecraft::operations::reduction by, kernels::strided_axes<2, Arch> const& axes,
                         std::vector<float> const& expected) {
    auto const count = static_cast<int>(expected.size());
    buffer y(count);
    kernels::reduce_axes<Arch>(by, axes, y.data(), count, x.data());
    CHECK(first_difference(y.data(), expected.data(), count) == -1);
    CHECK(y.guard_is_intact());
  };
  check(sum, along_rows, row_sum);
  check(max, along_rows, row_max);
  check(sum, along_columns, column_sum);
  check(max, along_columns, column_max);
  x.data()[0] = nan;
  row_max[0] = column_max[0] = nan;
  for (auto const& [axes, expected] : {std::pair(&along_rows, &row_max), std::pair(&along_columns, &column_max)}) {
    buffer y(static_cast<int>(expected->size()));
    kernels::reduce_axes<Arch>(max, *axes, y.data(), y.size(), x.data());
    for (int i = 0; i < y.size(); ++i)
      CHECK((i == 0 ? std::isnan(y.data()[i]) : y.data()[i] == (*expected)[static_cast<std::size_t>(i)]));
  }
}

template <class... Arch>
void check_matrices(int rows, int columns) {
  (check_matrix<Arch>(rows, columns), ...);
}

template <class... Arch>
void check_arrays_of_architectures() {
  (check_arrays<Arch>(), ...);
}

}  // namespace

TEST_CASE("sums and maxima of arrays") { check_arrays_of_architectures<MATMUL_ARCHITECTURES>(); }

TEST_CASE("sums and maxima of rows and columns") {
  check_matrices<MATMUL_ARCHITECTURES>(1, 1);
  check_matrices<MATMUL_ARCHITECTURES>(7, 10);
  check_matrices<MATMUL_ARCHITECTURES>(100, 3);
  check_matrices<MATMUL_ARCHITECTURES>(33, 17);
  check_matrices<MATMUL_ARCHITECTURES>(5, 64);
  check_matrices<MATMUL_ARCHITECTURES>(40, 131);
}
