// SPDX-License-Identifier: BSD-3-Clause
// Arithmetic over whole arrays: every size, in place.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include <stagecraft/kernels/elementwise/elementwise.hpp>
#include <stagecraft/kernels/elementwise/map.hpp>
#include <doctest/doctest.h>

#include "../product/matmul_cases.hpp"

namespace kernels = stagecraft::kernels;

namespace {

constexpr int sizes[] = {1, 7, 15, 16, 17, 31, 64, 1000};

/// A function on registers, and what IEEE 754 and NumPy say of the same numbers.
struct function_on_registers {
  stagecraft::operations::function function;
  float (*value)(float a, float b, float c);
};
template <class Arch, std::size_t... F>
constexpr std::array<function_on_registers, sizeof...(F)> functions_on(std::index_sequence<F...>) {
  using stagecraft::operations::function;
  return {function_on_registers{
      static_cast<function>(F), [](float a, float b, float c) {
        using value = kernels::batch<Arch>;
        float lanes[16];
        kernels::function_value<static_cast<function>(F), Arch>(value(a), value(b), value(c)).store_unaligned(lanes);
        return lanes[0];
      }}...};
}

bool agree(float found, double expected) {
  constexpr double most = std::numeric_limits<float>::max();
  if (expected != expected) return found != found;
  if (std::abs(expected) > most)
    return std::abs(found) >= 0.99F * std::numeric_limits<float>::max() && (found > 0) == (expected > 0);
  return std::abs(static_cast<double>(found) - expected) <= 1e-5 * std::abs(expected) + 1e-37;
}

template <class Arch>
void check_special_numbers() {
  constexpr float infinite = std::numeric_limits<float>::infinity(), none = std::numeric_limits<float>::quiet_NaN(),
                  most = std::numeric_limits<float>::max();
  constexpr float numbers[] = {none, -none, infinite, -infinite, 0.0F, -0.0F, most, -most, 1e-40F, 3, -3, 88.8F, -100};
  for (auto const& [function, value] :
       functions_on<Arch>(std::make_index_sequence<stagecraft::operations::function_count>{})) {
    if (stagecraft::operations::arity(function) == 3 && function != stagecraft::operations::function::select) continue;
    CAPTURE(static_cast<int>(function));
    for (float const a : numbers)
      for (float const b : numbers) {
        if (agree(value(a, b, 2), kernels::function_value(function, static_cast<double>(a), static_cast<double>(b), 2)))
          continue;
        CAPTURE(a);
        CAPTURE(b);
        CHECK(value(a, b, 2) == kernels::function_value(function, static_cast<double>(a), static_cast<double>(b), 2));
      }
  }
}

template <class... Arch>
void check_special_numbers_on() {
  (check_special_numbers<Arch>(), ...);
}

}  // namespace

TEST_CASE("scale, fill") {
  for (int const n : sizes) {
    CAPTURE(n);
    auto const size = static_cast<std::size_t>(n);
    std::vector<float> x(size);
    for (std::size_t i = 0; i < size; ++i) x[i] = std::round(3 * std::sin(static_cast<float>(i) * 1.1F));
    std::vector<float> y(size + 1, 5.0F);
    int wrong = 0;
    kernels::scaled_add<true>(-0.5F, x.data(), y.data(), n);
    for (std::size_t i = 0; i < size; ++i) wrong += y[i] != 5.0F - 0.5F * x[i];
    kernels::scaled_add(2.0F, x.data(), y.data(), n);
    for (std::size_t i = 0; i < size; ++i) wrong += y[i] != 2.0F * x[i];
    kernels::fill(y.data(), 3.25F, n);
    for (std::size_t i = 0; i < size; ++i) wrong += y[i] != 3.25F;
    CHECK(wrong == 0);
    CHECK(y.back() == 5.0F);
  }
}

TEST_CASE("functions of NaN and infinity are those of the C library and NumPy, as tiles have them") {
  check_special_numbers_on<MATMUL_ARCHITECTURES>();
}

TEST_CASE("concatenate is a copy of blocks, and so is its gradient") {
  // Two tensors (2, 3) and (2, 5) side by side.
  std::vector<float> const a{1, 2, 3, 4, 5, 6};
  std::vector<float> const b{10, 20, 30, 40, 50, 60, 70, 80, 90, 100};
  std::vector<float> y(16);
  kernels::copy_blocks(2, 3, a.data(), 3, y.data(), 8);
  kernels::copy_blocks(2, 5, b.data(), 5, y.data() + 3, 8);
  CHECK(y == std::vector<float>{1, 2, 3, 10, 20, 30, 40, 50, 4, 5, 6, 60, 70, 80, 90, 100});
  std::vector<float> da(6, 1.0F);
  kernels::copy_blocks<true>(2, 3, y.data(), 8, da.data(), 3);
  CHECK(da == std::vector<float>{2, 3, 4, 5, 6, 7});
  std::vector<float> db(10);
  kernels::copy_blocks(2, 5, y.data() + 3, 8, db.data(), 5);
  CHECK(db == b);
}

// Several rows are one then; operands are whole, a row that all have, or a number for each row.
TEST_CASE("functions of rows that are shorter than a register") {
  using stagecraft::operations::function;
  for (int const n : {1, 2, 3, 4, 5, 8, 11})
    for (int const rows : {1, 7, 8, 9, 341, 1025}) {
      CAPTURE(n);
      CAPTURE(rows);
      auto const of_all = static_cast<std::size_t>(rows * n);
      std::vector<float> y(of_all + 1, 5.0F), row(static_cast<std::size_t>(n)), column(static_cast<std::size_t>(rows));
      for (std::size_t i = 0; i < row.size(); ++i) row[i] = std::sin(static_cast<float>(i));
      for (std::size_t i = 0; i < column.size(); ++i) column[i] = std::cos(static_cast<float>(i));
      for (std::size_t i = 0; i < of_all; ++i) y[i] = std::sin(static_cast<float>(3 * i));
      std::vector<float> expected = y;
      for (std::size_t i = 0; i < of_all; ++i) {
        float const difference = y[i] - row[i % row.size()];
        expected[i] = difference * column[i / row.size()];
      }
      kernels::strided_axes<4> by_row, by_column;
      by_row.add(rows, {n, n, 0, 0});
      by_row.add(n, {1, 1, 1, 1});
      by_column.add(rows, {n, n, 1, 1});
      by_column.add(n, {1, 1, 0, 0});
      kernels::map_function(function::subtract, by_row, y.data(), {y.data(), row.data(), row.data()});
      kernels::map_function(function::multiply, by_column, y.data(), {y.data(), column.data(), column.data()});
      CHECK(y == expected);
    }
}

TEST_CASE("copies with strides: a number for each row, rows, a transposed matrix") {
  constexpr std::int64_t rows = 3, columns = 19;
  std::vector<float> x(rows * columns), y(rows * columns + 1);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * i % 31) - 7;
  struct {
    std::int64_t of_row, of_column;
  } const reads[]{{1, 0}, {columns, 1}, {1, rows}};
  for (auto const& read : reads) {
    CAPTURE(read.of_row);
    std::fill(y.begin(), y.end(), -1.0F);
    kernels::strided_axes<2> axes;
    axes.add(rows, {columns, read.of_row});
    axes.add(columns, {1, read.of_column});
    kernels::copy_strided(axes, y.data(), x.data());
    bool are_right = true;
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t column = 0; column < columns; ++column)
        are_right = are_right && y[static_cast<std::size_t>(row * columns + column)] ==
                                     x[static_cast<std::size_t>(row * read.of_row + column * read.of_column)];
    CHECK(are_right);
    CHECK(y.back() == -1);
  }
}
