// SPDX-License-Identifier: BSD-3-Clause
// The rows of options that are tested cover all pairs of choices.
#include <doctest/doctest.h>

#include <set>
#include <tuple>

#include "option_rows.hpp"

namespace {

using random_runs::option_row;

/// Two options and what is chosen of each.
using pair = std::tuple<std::size_t, int, std::size_t, int>;

void add_pairs(std::set<pair>& pairs, unsigned seed) {
  option_row const row(seed);
  for (std::size_t a = 0; a < option_row::count; ++a)
    for (std::size_t b = a + 1; b < option_row::count; ++b) pairs.emplace(a, row.drawn[a], b, row.drawn[b]);
}

}  // namespace

TEST_CASE("every pair of choices that a legal row can have is tested") {
  std::set<pair> possible, tested;
  for (unsigned seed = 0; seed < 4000; ++seed) add_pairs(possible, seed);
  for (unsigned const seed : random_runs::grouped_rows) add_pairs(tested, seed);
  for (unsigned const seed : random_runs::interleaved_rows) add_pairs(tested, seed);
  for (unsigned const seed : random_runs::sequential_rows) add_pairs(tested, seed);
  CHECK(possible.size() > 900);
  CHECK(tested == possible);
}

TEST_CASE("rows have the schedules that their lists are named after") {
  for (unsigned const seed : random_runs::grouped_rows)
    CHECK(option_row(seed).schedule() == stagecraft::schedule::grouped);
  for (unsigned const seed : random_runs::interleaved_rows)
    CHECK(option_row(seed).schedule() == stagecraft::schedule::interleaved);
  for (unsigned const seed : random_runs::sequential_rows)
    CHECK(option_row(seed).schedule() == stagecraft::schedule::sequential);
}
