// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/threads/own_processor.hpp>
#include <atomic>
#include <doctest/doctest.h>
#include <thread>

namespace sc = stagecraft;

TEST_CASE("two threads run on two processors, and may run on all afterwards") {
#if defined(__linux__)
  cpu_set_t allowed, afterwards;
  REQUIRE(sched_getaffinity(0, sizeof allowed, &allowed) == 0);
  sc::threads::own_processor processors(2);
  processors.find(0);
  int const first = sched_getcpu();
  int second = -1;
  std::thread([&] {
    // It begins where the first one is.
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    sched_setaffinity(0, sizeof one, &one);
    sched_setaffinity(0, sizeof allowed, &allowed);
    processors.find(1);
    second = sched_getcpu();
    sched_getaffinity(0, sizeof afterwards, &afterwards);
  }).join();
  CHECK(CPU_EQUAL(&allowed, &afterwards));
  if (CPU_COUNT(&allowed) > 1) WARN(second != first);  // the system may have moved it since
#endif
}

TEST_CASE("a thread that works and does not run is fetched, and may run on all processors afterwards") {
#if defined(__linux__)
  cpu_set_t allowed, afterwards;
  REQUIRE(sched_getaffinity(0, sizeof allowed, &allowed) == 0);
  sc::threads::own_processor processors(2);
  CHECK(processors.own_number() == -1);
  processors.find(0);
  CHECK(processors.own_number() == 0);
  int looks = 0;
  auto const looks_once = [&] { return ++looks > 1000; };
  std::atomic<int> state = 0;
  std::thread other([&] {
    processors.find(1);
    CHECK(processors.own_number() == 1);
    state = 1;
    state.notify_all();
    state.wait(1);  // it sleeps: as far as others can see, it is kept from its processor
    sched_getaffinity(0, sizeof afterwards, &afterwards);
  });
  state.wait(0);
  processors.fetch_others(0, looks_once);
  CHECK(looks == 0);  // nobody works
  processors.set_working(1, true);
  for (int round = 1; round <= 100; ++round) {
    processors.fetch_others(0, looks_once);
    CHECK(looks == round);
  }
  processors.fetch_others(0, [] { return true; });
  state = 2;
  state.notify_all();
  other.join();
  CHECK(CPU_EQUAL(&allowed, &afterwards));
#endif
}
