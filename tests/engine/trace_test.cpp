// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/engine/trace.hpp>

#include <doctest/doctest.h>
#include <thread>
#include <type_traits>

namespace sc = stagecraft;

static_assert(std::is_trivially_copyable_v<sc::engine::trace_event>);
static_assert(sizeof(sc::engine::trace_event) == 40);
static_assert(!std::is_copy_constructible_v<sc::trace>);
static_assert(noexcept(std::declval<sc::trace&>().record({})));

TEST_CASE("events of several threads come out in the order in which they began") {
  sc::trace record;
  record.reserve(3);
  CHECK(record.workers() == 3);
  auto const work = [&record](int worker) {
    for (int i = 0; i < 1000; ++i) {
      auto const begin = sc::trace::now();
      record.record({.device = worker,
                     .worker = worker,
                     .stage = worker,
                     .micro_batch = i,
                     .begin_ns = begin,
                     .end_ns = sc::trace::now()});
    }
  };
  std::thread one(work, 1), two(work, 2);
  work(0);
  one.join();
  two.join();
  auto const events = record.events();
  REQUIRE(events.size() == 3000);
  CHECK(record.size() == 3000);
  CHECK(record.dropped() == 0);
  int next[3]{};
  for (std::size_t i = 0; i < events.size(); ++i) {
    CHECK(events[i].micro_batch == next[events[i].worker]++);
    CHECK(events[i].begin_ns <= events[i].end_ns);
    if (i > 0) CHECK(events[i - 1].begin_ns <= events[i].begin_ns);
  }
}

TEST_CASE("a full part takes no more, and counts what it did not take") {
  sc::trace record(4);
  record.reserve(2);
  for (int i = 0; i < 10; ++i) record.record({.worker = 1, .micro_batch = i});
  record.record({.worker = 0, .micro_batch = 7});
  CHECK(record.size() == 5);
  CHECK(record.dropped() == 6);
  CHECK(record.events()[4].micro_batch == 3);
  record.clear();
  CHECK(record.size() == 0);
  CHECK(record.dropped() == 0);
  record.record({.worker = 1, .micro_batch = 8});
  CHECK(record.events().size() == 1);
  CHECK(record.events()[0].micro_batch == 8);
}

TEST_CASE("room for more threads keeps what was recorded; no room records nothing") {
  sc::trace record(2);
  record.reserve(1);
  record.record({.micro_batch = 5});
  record.reserve(4);
  record.reserve(2);
  CHECK(record.workers() == 4);
  CHECK(record.events().size() == 1);

  sc::trace none(0);
  none.reserve(1);
  none.record({});
  CHECK(none.size() == 0);
  CHECK(none.dropped() == 1);
}
