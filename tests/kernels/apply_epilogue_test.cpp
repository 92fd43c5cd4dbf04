// SPDX-License-Identifier: BSD-3-Clause
// An epilogue on sums in memory, against plain loops.
#include <stagecraft/kernels/apply_epilogue.hpp>
#include <doctest/doctest.h>

#include "matmul_cases.hpp"

using namespace matmul_cases;

namespace {

/// Twice the sum, and the place where it stands.
template <class Arch>
struct twice_and_place {
  using value = kernels::batch<Arch>;
  float const* places;

  value operator()(value const& sum, int /*column*/, std::int64_t element) const {
    return sum + sum + value::load_unaligned(places + element);
  }
};

template <int Rows, int Columns, class Arch>
void check_rows() {
  CAPTURE(Rows);
  CAPTURE(Columns);
  CAPTURE(kernels::lanes<Arch>);
  buffer sums(Rows * Columns), bias((Columns + 63) / 64 * 64), places(Rows * Columns + 64);
  sums.fill(1);
  bias.fill(2);
  for (int i = 0; i < places.size(); ++i) places.data()[i] = static_cast<float>(i);
  for (int count = 1; count <= 3; ++count) {
    CAPTURE(count);
    buffer y(Rows * Columns), expected(Rows * Columns);
    for (int i = 0; i < Rows * Columns; ++i) {
      y.data()[i] = sums.data()[i];
      expected.data()[i] = 2 * (sums.data()[i] + bias.data()[i % Columns]) + static_cast<float>(i);
    }
    kernels::epilogue_then const epilogue{kernels::bias_epilogue{bias.data()}, twice_and_place<Arch>{places.data()}};
    for (int index = 0; index < count; ++index)
      kernels::apply_epilogue<Rows, Columns, Arch>(y.data(), epilogue, kernels::share{index, count});
    CHECK(first_difference(y.data(), expected.data(), Rows * Columns) == -1);
    CHECK(y.guard_is_intact());
  }
}

template <class... Arch>
void check_architectures() {
  (check_rows<1, 1, Arch>(), ...);
  (check_rows<5, 3, Arch>(), ...);
  (check_rows<2, 16, Arch>(), ...);
  (check_rows<7, 31, Arch>(), ...);
  (check_rows<4, 33, Arch>(), ...);
}

}  // namespace

TEST_CASE("an epilogue on rows in memory") { check_architectures<MATMUL_ARCHITECTURES>(); }
