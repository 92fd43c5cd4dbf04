// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/execution/own_processor.hpp>

#include <doctest/doctest.h>

#include <thread>

namespace sc = stagecraft;

TEST_CASE("two threads run on two processors, and may run on all afterwards") {
#if defined(__linux__)
  cpu_set_t allowed, afterwards;
  REQUIRE(sched_getaffinity(0, sizeof allowed, &allowed) == 0);
  sc::own_processor processors(2);
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
