// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/ipu/convolution/convolution_scene.hpp>
#include <algorithm>
#include <cstdint>
#include <doctest/doctest.h>
#include <initializer_list>

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

// Another number of parts, each once: here, the largest part has 7, 6, 5, 4, 3 of 10.
constexpr bool are_neighbours(std::int64_t parts, std::initializer_list<std::int64_t> expected) {
  stagecraft::detail::neighbouring_splits const found(10, parts, 2);
  return std::equal(found.begin(), found.end(), expected.begin(), expected.end());
}
static_assert(are_neighbours(2, {4, 3, 2}));
static_assert(are_neighbours(10, {10, 5, 4}));

// The six with fewest cycles or bytes, without those that are as good as another.
constexpr bool short_list_is_sorted(bool by_bytes) {
  stagecraft::detail::part_counts_short_list list;
  for (std::int64_t const n : {5, 3, 8, 3, 1, 9, 7, 2, 6})
    list.insert({.cycles = by_bytes ? 0 : n, .bytes = by_bytes ? n : 0}, {.in_chans = n}, by_bytes);
  for (int k = 0; k < list.count; ++k)
    if (list.parts[k].in_chans != (k < 3 ? k + 1 : k + 2)) return false;
  return list.count == 6;
}
static_assert(short_list_is_sorted(false) && short_list_is_sorted(true));

constexpr bool tells_what_was_tried() {
  stagecraft::detail::tried_part_counts tried(1472);
  tried.add(2, {.groups = 1472});
  tried.add(2, {.kernel_height = 3, .in_chans = 5});
  return tried.contains(2, {.groups = 1472}) && tried.contains(2, {.kernel_height = 3, .in_chans = 5}) &&
         !tried.contains(1, {.groups = 1472}) && !tried.contains(2, {.kernel_width = 3, .in_chans = 5}) &&
         !tried.contains(2, {});
}
static_assert(tells_what_was_tried());

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
