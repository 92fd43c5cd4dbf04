// SPDX-License-Identifier: BSD-3-Clause
// Stand-ins agree with what they are compared with, and end loops.
#include <doctest/doctest.h>

#include <stagecraft/diagnostics/stand_in.hpp>

namespace detail = stagecraft::diagnostics;

static_assert(detail::any_number{} == 3);
static_assert(3 == detail::any_number{});
static_assert(detail::any_number{1} == detail::any_number{2});
static_assert(detail::any_number{} >= 2 && detail::any_number{} > 2U && detail::any_number{} > detail::any_number{});
static_assert(detail::any_calls{}.size() == 7U);
static_assert(detail::any_calls{}[5] == 2);

namespace {

struct pair {
  int first = 1, second = 2;
};

static_assert(detail::anything<pair> == pair{3, 4});
static_assert(pair{3, 4} == detail::anything<pair>);
static_assert(detail::anything<pair>.second == 2);

}  // namespace

TEST_CASE("a loop up to a number that is not known ends") {
  int steps = 0;
  for (int i = 0; i < detail::any_number{2}; ++i) ++steps;
  CHECK(steps == 2);
  for ([[maybe_unused]] int const call : detail::any_calls{}) ++steps;
  CHECK(steps == 2);
}
