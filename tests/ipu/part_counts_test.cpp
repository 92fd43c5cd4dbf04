// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/ipu/part_counts.hpp>
#include <doctest/doctest.h>

using stagecraft::detail::ceil_div;
using stagecraft::detail::fewest_parts;
using stagecraft::detail::next_split;
using stagecraft::detail::other_split;

// 10 in 1, 2, 3, 4, 5, 10 parts: the largest has 10, 5, 4, 3, 2, 1.
static_assert(next_split(10, 1) == 2 && next_split(10, 2) == 3 && next_split(10, 4) == 5 && next_split(10, 5) == 10);
static_assert(next_split(10, 10) > 1'000'000);
// In larger steps: the largest part has at most 60 percent.
static_assert(next_split(10, 1, 60) == 2 && next_split(10, 2, 60) == 4 && next_split(10, 4, 60) == 10);
static_assert(fewest_parts(10, 7) == 5 && fewest_parts(10, 9) == 5 && fewest_parts(10, 40) == 10);
static_assert(other_split(10, 2, -1) == 3 && other_split(10, 2, 1) == 2 && other_split(10, 10, -3) == 10);

TEST_CASE("no number of parts that makes a difference is left out") {
  for (int size = 1; size <= 300; ++size)
    for (int parts = 1, listed = 1; parts <= size; ++parts) {
      if (ceil_div(size, parts) < ceil_div(size, listed)) {
        CHECK(next_split(size, listed) == parts);
        listed = parts;
      }
      CHECK(fewest_parts(size, parts) == listed);
    }
}
