// SPDX-License-Identifier: BSD-3-Clause
// Softmax and its gradient for rows of every length, on every instruction set, shared among threads.
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include <stagecraft/kernels/normalization/softmax.hpp>
#include <doctest/doctest.h>

#include "../product/matmul_cases.hpp"
#include "../reference_formulas.hpp"

namespace kernels = stagecraft::kernels;
using matmul_cases::buffer;
using matmul_cases::first_difference;

namespace {

/// The gradient of softmax in double.
std::vector<double> exact_gradient(float const* y, float const* dy, int columns) {
  double dot = 0;
  for (int i = 0; i < columns; ++i) dot += double{y[i]} * dy[i];
  std::vector<double> dx;
  for (int i = 0; i < columns; ++i) dx.push_back(y[i] * (dy[i] - dot));
  return dx;
}

template <int Rows, int Columns, class Arch>
void check() {
  CAPTURE(Rows);
  CAPTURE(Columns);
  CAPTURE(kernels::lanes<Arch>);
  constexpr int size = Rows * Columns;
  buffer x(size), y(size), in_place(size), dy(size), dx(size), sum(size, 1.0F);
  for (int i = 0; i < size; ++i) {
    x.data()[i] = static_cast<float>(6 * std::sin(1.7 * i + 0.3));
    dy.data()[i] = static_cast<float>(std::cos(0.9 * i));
    in_place.data()[i] = x.data()[i];
  }
  kernels::softmax<Rows, Columns, Arch>(x.data(), y.data());
  kernels::softmax_gradient<Rows, Columns, false, Arch>(y.data(), dy.data(), dx.data());
  kernels::softmax_gradient<Rows, Columns, true, Arch>(y.data(), dy.data(), sum.data());
  int wrong = 0;
  std::vector<double> expected(Columns);
  for (int row = 0; row < Rows; ++row) {
    int const first = row * Columns;
    kernels::reference::softmax(x.data() + first, expected.data(), Columns);
    auto const slope = exact_gradient(y.data() + first, dy.data() + first, Columns);
    for (int i = 0; i < Columns; ++i) {
      auto const at = static_cast<std::size_t>(i);
      wrong += !(std::fabs(y.data()[first + i] - expected[at]) <= 1e-6 * expected[at] + 1e-37);
      wrong += !(std::fabs(dx.data()[first + i] - slope[at]) <= 1e-6 * y.data()[first + i]);
      wrong += !(std::fabs(sum.data()[first + i] - 1 - slope[at]) <= 3e-7);
    }
  }
  CHECK(wrong == 0);

  kernels::softmax<Rows, Columns, Arch>(in_place.data(), in_place.data());
  CHECK(first_difference(in_place.data(), y.data(), size) == -1);
  for (int count = 1; count <= 3; ++count) {
    CAPTURE(count);
    buffer shared(size), shared_dx(size), shared_sum(size, 1.0F);
    for (int i = 0; i < size; ++i) shared_dx.data()[i] = dy.data()[i];
    for (int index = count - 1; index >= 0; --index) {
      kernels::softmax<Rows, Columns, Arch>(x.data(), shared.data(), {index, count});
      kernels::softmax_gradient<Rows, Columns, false, Arch>(y.data(), shared_dx.data(), shared_dx.data(),
                                                            {index, count});
      kernels::softmax_gradient<Rows, Columns, true, Arch>(y.data(), dy.data(), shared_sum.data(), {index, count});
    }
    CHECK(first_difference(shared.data(), y.data(), size) == -1);
    CHECK(first_difference(shared_dx.data(), dx.data(), size) == -1);
    CHECK(first_difference(shared_sum.data(), sum.data(), size) == -1);
    CHECK(shared.guard_is_intact());
    CHECK(shared_dx.guard_is_intact());
    CHECK(shared_sum.guard_is_intact());
  }
}

template <int Rows, int Columns, class... Arch>
void check_architectures() {
  (check<Rows, Columns, Arch>(), ...);
}

template <int Columns, class Arch>
void check_special_rows() {
  CAPTURE(Columns);
  CAPTURE(kernels::lanes<Arch>);
  constexpr int rows = 7;
  constexpr float inf = std::numeric_limits<float>::infinity();
  buffer x(rows * Columns), y(rows * Columns);
  x.fill(1);
  float* const last = x.data() + Columns - 1;
  last[0] = std::numeric_limits<float>::quiet_NaN();
  last[2 * Columns] = inf;
  last[4 * Columns] = -inf;
  last[5 * Columns] = 3e38F;
  kernels::softmax<rows, Columns, Arch>(x.data(), y.data());
  for (int row = 0; row < rows; ++row) {
    int nans = 0;
    for (int i = 0; i < Columns; ++i) nans += std::isnan(y.data()[row * Columns + i]);
    CHECK(nans == (row == 0 || row == 2 ? Columns : 0));
  }
  CHECK(y.data()[5 * Columns - 1] == 0);
  CHECK(y.data()[6 * Columns - 1] == 1);
  CHECK(y.data()[6 * Columns - 2] == 0);
}

template <class... Arch>
void check_special_rows_of_architectures() {
  (check_special_rows<10, Arch>(), ...);
  (check_special_rows<40, Arch>(), ...);
  (check_special_rows<131, Arch>(), ...);
}

}  // namespace

TEST_CASE("softmax of rows of every length") {
  check_architectures<1, 1, MATMUL_ARCHITECTURES>();
  check_architectures<5, 3, MATMUL_ARCHITECTURES>();
  check_architectures<37, 10, MATMUL_ARCHITECTURES>();
  check_architectures<16, 16, MATMUL_ARCHITECTURES>();
  check_architectures<19, 17, MATMUL_ARCHITECTURES>();
  check_architectures<33, 32, MATMUL_ARCHITECTURES>();
  check_architectures<3, 127, MATMUL_ARCHITECTURES>();
  check_architectures<17, 128, MATMUL_ARCHITECTURES>();
  check_architectures<5, 129, MATMUL_ARCHITECTURES>();
  check_architectures<23, 1000, MATMUL_ARCHITECTURES>();  // too large to ask for the next row
}

TEST_CASE("NaN and infinity stay in their rows of a softmax") {
  check_special_rows_of_architectures<MATMUL_ARCHITECTURES>();
}
