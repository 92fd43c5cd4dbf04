// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/ipu/cycles/field_share.hpp>
#include <doctest/doctest.h>

namespace vertices = stagecraft::vertices;
using vertices::field_share;
using vertices::share_of_worker;

// 4 rows of 6 for 6 workers: 4 elements each, in pieces that end where rows end.
static_assert(share_of_worker(4, 6, 6, 0) == field_share{.row_length = 6, .last = 4});
static_assert(share_of_worker(4, 6, 6, 1) == field_share{.first = 2, .row_length = 6, .last = 2});
static_assert(share_of_worker(4, 6, 6, 2) == field_share{.first = 4, .row_length = 6});
// 10 rows of 3: the second half, and the second quarter, elements 7 to 14.
static_assert(share_of_worker(10, 3, 2, 1) == field_share{.whole_rows = 5, .row_length = 3});
static_assert(share_of_worker(10, 3, 4, 1) == field_share{.first = 2, .whole_rows = 2, .row_length = 3});
// More workers than elements.
static_assert(share_of_worker(1, 2, 6, 0).elements() == 0 && share_of_worker(1, 2, 6, 5).elements() == 1);
static_assert(share_of_worker(0, 5, 6, 3).elements() == 0);

TEST_CASE("the workers' shares of a field are all of it, in pieces that are no longer than a row") {
  for (int workers = 1; workers <= 7; ++workers)
    for (int rows = 0; rows <= 9; ++rows)
      for (int length = 1; length <= 9; ++length) {
        std::int64_t elements = 0;
        for (int worker = 0; worker < workers; ++worker) {
          auto const share = share_of_worker(rows, length, workers, worker);
          CHECK(share.first < length);
          CHECK(share.last < length);
          CHECK(share.elements() >= rows * length / workers);
          CHECK(share.elements() <= (rows * length + workers - 1) / workers);
          CHECK(share.sum([](std::int64_t n) { return n; }) == share.elements());
          // A first piece ends where a row ends, unless it is all.
          if (share.whole_rows + share.last > 0) CHECK((elements + share.first) % length == 0);
          elements += share.elements();
        }
        CHECK(elements == rows * length);
      }
}
