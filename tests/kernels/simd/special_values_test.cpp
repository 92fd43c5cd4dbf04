// SPDX-License-Identifier: BSD-3-Clause
// Infinities and NaN are found at every place, and nothing else is taken for one.
#include <stagecraft/kernels/simd/special_values.hpp>
#include <doctest/doctest.h>

#include "../product/matmul_cases.hpp"

#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

namespace {

namespace kernels = stagecraft::kernels;

template <class Arch>
void check_places() {
  CAPTURE(kernels::lanes<Arch>);
  using found = kernels::special_values;
  for (std::size_t n = 0; n < 70; ++n) {
    // What stands behind is not looked at.
    std::vector<float> x(n + 1, std::numeric_limits<float>::max());
    x[n] = std::numeric_limits<float>::quiet_NaN();
    auto const find = [&] { return kernels::find_special_values<Arch>(x.data(), static_cast<std::int64_t>(n)); };
    CHECK(find() == found{});
    for (std::size_t i = 0; i < n; ++i) {
      x[i] = -std::numeric_limits<float>::infinity();
      CHECK(find() == found{.infinity = true});
      x[i] = std::bit_cast<float>(0xFF800001U);
      CHECK(find() == found{.nan = true});
      x[n / 2] = std::numeric_limits<float>::infinity();
      CHECK(find() == (i == n / 2 ? found{.infinity = true} : found{.infinity = true, .nan = true}));
      x[i] = x[n / 2] = -1.0F;
    }
  }
}

template <class... Arch>
void check_all() {
  (check_places<Arch>(), ...);
}

}  // namespace

TEST_CASE("infinities and NaN") { check_all<MATMUL_ARCHITECTURES>(); }
