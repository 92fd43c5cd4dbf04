// SPDX-License-Identifier: BSD-3-Clause
// Rows of tables that indices name: read, and updated with the bits of a gradient of the whole table.
#include <stagecraft/kernels/elementwise/elementwise.hpp>
#include <stagecraft/kernels/update/update.hpp>
#include <stagecraft/optimizers/sgd.hpp>
#include <doctest/doctest.h>

#include "share_check.hpp"

#include <cstring>
#include <vector>

namespace {

namespace kernels = stagecraft::kernels;
using share_check::buffer;

constexpr stagecraft::optimizers::sgd optimizer{};
constexpr int rows = 11;

/// Some twice, some never, and some that name no row.
std::vector<float> numbers() {
  std::vector<float> result{3, 0, 10, 3, 11, -1, 5, 3, 0, 2.75F, 1e9F, NAN, 7, 10};
  for (int k = 0; k < 20; ++k) result.push_back(static_cast<float>(k * k % 9));
  return result;
}

void check(int width) {
  CAPTURE(width);
  auto const indices = numbers();
  int const count = static_cast<int>(indices.size());
  kernels::table_indices const named{indices.data(), count, rows, width};
  buffer table(rows * width), gradients(count * width), result(rows * width), read(count * width);
  share_check::shuffled(table, 1);
  share_check::shuffled(gradients, 2);
  gradients.data()[0] = -0.0F;

  kernels::read_rows(named, table.data(), read.data());
  std::vector<float> sums(static_cast<std::size_t>(rows * width));
  for (int k = 0; k < count; ++k) {
    auto const row = named.row(k);
    CHECK((row < 0) == !(indices[static_cast<std::size_t>(k)] >= 0 && indices[static_cast<std::size_t>(k)] < rows));
    for (int i = 0; i < width; ++i) {
      CHECK(read.data()[k * width + i] == (row < 0 ? 0.0F : table.data()[row * width + i]));
      if (row >= 0) sums[static_cast<std::size_t>(row * width + i)] += gradients.data()[k * width + i];
    }
  }
  CHECK(read.guard_is_intact());

  std::vector<float> expected(table.data(), table.data() + table.size());
  kernels::update<optimizer>(0.1F, 1, expected.data(), sums.data(), nullptr, 0, rows * width);
  std::vector<float> memory(static_cast<std::size_t>(kernels::row_chains<>::floats(rows, count)));
  kernels::row_chains<> const chains(named, memory.data());
  chains.link();
  kernels::update_function<optimizer> const function(0.1F, 1);
  for (int const parts : {1, 2, 5}) {
    std::copy_n(table.data(), rows * width, result.data());
    for (int part = 0; part < parts; ++part)
      chains.update<optimizer>(function, {result.data()}, gradients.data(), kernels::share{part, parts});
    CHECK(std::memcmp(result.data(), expected.data(), expected.size() * sizeof(float)) == 0);
    CHECK(result.guard_is_intact());
  }
}

}  // namespace

TEST_CASE("rows are read and updated") {
  for (int const width : {1, 3, 16, 20, 64, 130, 300}) check(width);
}
