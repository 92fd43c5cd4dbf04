// SPDX-License-Identifier: BSD-3-Clause
// Sums, means and maxima of arrays, rows and columns: every size, NaN, threads.
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

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
    CHECK(kernels::mean<Arch>(x.get(), n) == static_cast<float>(sum) / static_cast<float>(n));
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
  auto const near = [](float const* got, std::vector<float> const& sums, float scale, float more) {
    int wrong = 0;
    for (std::size_t i = 0; i < sums.size(); ++i) wrong += std::fabs(got[i] - (sums[i] * scale + more)) > 1e-6F;
    return wrong == 0;
  };
  for (int count = 1; count <= 3; ++count) {
    CAPTURE(count);
    buffer rows[3] = {buffer(Rows), buffer(Rows), buffer(Rows)};
    buffer columns[4] = {buffer(Columns), buffer(Columns), buffer(Columns), buffer(Columns, 7.0F)};
    for (int index = 0; index < count; ++index) {
      kernels::share const part{index, count};
      kernels::sums_of_rows<Rows, Columns, Arch>(x.data(), rows[0].data(), part);
      kernels::means_of_rows<Rows, Columns, Arch>(x.data(), rows[1].data(), part);
      kernels::maxima_of_rows<Rows, Columns, Arch>(x.data(), rows[2].data(), part);
      kernels::sums_of_columns<Rows, Columns, false, Arch>(x.data(), columns[0].data(), part);
      kernels::means_of_columns<Rows, Columns, false, Arch>(x.data(), columns[1].data(), part);
      kernels::maxima_of_columns<Rows, Columns, Arch>(x.data(), columns[2].data(), part);
      kernels::sums_of_columns<Rows, Columns, true, Arch>(x.data(), columns[3].data(), part);
    }
    CHECK(first_difference(rows[0].data(), row_sum.data(), Rows) == -1);
    CHECK(near(rows[1].data(), row_sum, 1.0F / Columns, 0));
    CHECK(first_difference(rows[2].data(), row_max.data(), Rows) == -1);
    CHECK(first_difference(columns[0].data(), column_sum.data(), Columns) == -1);
    CHECK(near(columns[1].data(), column_sum, 1.0F / Rows, 0));
    CHECK(first_difference(columns[2].data(), column_max.data(), Columns) == -1);
    CHECK(near(columns[3].data(), column_sum, 1, 7));
    for (auto& each : rows) CHECK(each.guard_is_intact());
    for (auto& each : columns) CHECK(each.guard_is_intact());
  }
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

TEST_CASE("sums, means and maxima of arrays") { check_arrays_of_architectures<MATMUL_ARCHITECTURES>(); }

TEST_CASE("sums, means and maxima of rows and columns") {
  check_matrices<1, 1, MATMUL_ARCHITECTURES>();
  check_matrices<7, 10, MATMUL_ARCHITECTURES>();
  check_matrices<33, 17, MATMUL_ARCHITECTURES>();
  check_matrices<5, 64, MATMUL_ARCHITECTURES>();
  check_matrices<40, 131, MATMUL_ARCHITECTURES>();
}
