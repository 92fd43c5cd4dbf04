// SPDX-License-Identifier: BSD-3-Clause
// A product whose factor has more than 2^31 floats: only its last rows are computed, so that the others take no memory.
#include <stagecraft/kernels/product/matmul.hpp>

#include <doctest/doctest.h>

#if defined(__linux__) && defined(__x86_64__)
#include <sys/mman.h>

#include <cstddef>
#include <vector>

namespace kernels = stagecraft::kernels;

TEST_CASE("the last rows of a factor with more than 2^31 floats") {
  constexpr int rows = 1 << 22, columns = 520, units = 3, shares = 1 << 16;
  constexpr std::size_t left_floats = static_cast<std::size_t>(rows) * columns, floats = left_floats + 4ULL * rows;
  static_assert(left_floats > 1ULL << 31U);
  void* const memory =
      mmap(nullptr, floats * sizeof(float), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return;  // a process that may not reserve so many addresses
  auto* const left = static_cast<float*>(memory);
  float* const result = left + left_floats;
  for (int k = 0; k < columns; ++k) left[left_floats - columns + static_cast<std::size_t>(k)] = 1;

  using layout = kernels::packed_matrix<columns, units>;
  std::vector<float> row_major(std::size_t{columns} * units, 2.0F), right(layout::size + 64);
  layout::pack(row_major.data(), right.data());
  kernels::matmul<rows, columns, units>(left, right.data(), result, kernels::no_epilogue{}, {shares - 1, shares});
  float const* const last = result + static_cast<std::size_t>(rows) * units;
  for (int unit = 1; unit <= units; ++unit) CHECK(last[-unit] == 2 * columns);
  for (int unit = units + 1; unit <= 2 * units; ++unit) CHECK(last[-unit] == 0);
  munmap(memory, floats * sizeof(float));
}
#endif
