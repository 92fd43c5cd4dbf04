// SPDX-License-Identifier: BSD-3-Clause
// What tiles store in half precision follows the rules of the thread that runs them.
#include <stagecraft/ipu/tiles/tile_view.hpp>
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstddef>

namespace {

using namespace stagecraft;  // NOLINT: one test

/// What comes back of a number.
float stored(float number) {
  std::array<std::byte, 2> memory{};
  tiles::tile_view const view(memory.data(), 1, dtype::float16, 0);
  view.set(0, number);
  return view[0];
}

}  // namespace

TEST_CASE("without rules: the nearest, and at most the largest") {
  CHECK(stored(1.0F + 0x1p-11F) == 1.0F);
  CHECK(stored(1.0F + 0x1.8p-11F) == 1.0F + 0x1p-10F);
  CHECK(stored(1e9F) == 65504.0F);
  CHECK(stored(-INFINITY) == -65504.0F);
  CHECK(std::isnan(stored(NAN)));
}

TEST_CASE("NaN on overflow") {
  tiles::half_rounding const rules({.nan_on_overflow = true});
  CHECK(stored(65519.0F) == 65504.0F);
  CHECK_FALSE(rules.overflowed());
  CHECK(std::isnan(stored(65520.0F)));
  CHECK(rules.overflowed());
  {
    tiles::half_rounding const inner({});
    CHECK(stored(65520.0F) == 65504.0F);
    CHECK(inner.overflowed());
    CHECK(stored(1.0F) == 1.0F);
  }
  CHECK(std::isnan(stored(-65520.0F)));
}

TEST_CASE("at random: the same numbers again with the same key, with the right mean") {
  auto const sum_of = [](std::uint64_t seed) {
    tiles::half_rounding const rules({.at_random = true, .key = {seed, 1}});
    double sum = 0;
    for (int i = 0; i < 4096; ++i) sum += static_cast<double>(stored(2.0F + 0x1p-11F)) - 2;
    CHECK_FALSE(rules.overflowed());
    return sum * 512;
  };
  CHECK(sum_of(1) == sum_of(1));
  CHECK(sum_of(1) != sum_of(2));
  // A quarter of 4096 goes up, with a deviation of 27.7; five of them.
  CHECK(std::fabs(sum_of(1) - 1024) < 139);
}
