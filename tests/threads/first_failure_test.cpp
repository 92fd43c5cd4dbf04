// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/threads/first_failure.hpp>
#include <atomic>
#include <doctest/doctest.h>
#include <stdexcept>
#include <thread>
#include <vector>

TEST_CASE("whoever fails knows afterwards that there is a failure, the first one's") {
  for (int round = 0; round < 300; ++round) {
    stagecraft::threads::first_failure failure;
    std::atomic<int> ready = 0, first = 0, unseen = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i)
      threads.emplace_back([&] {
        ++ready;
        while (ready < 3) std::this_thread::yield();
        if (failure.fail(std::make_exception_ptr(std::runtime_error("failed")))) ++first;
        if (!failure.failed() || !failure.error()) ++unseen;
      });
    for (auto& thread : threads) thread.join();
    REQUIRE(first == 1);
    REQUIRE(unseen == 0);
    CHECK_THROWS_AS(std::rethrow_exception(failure.clear()), std::runtime_error);
    REQUIRE(!failure.failed());
  }
}
