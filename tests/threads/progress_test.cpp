// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/threads/background_thread.hpp>
#include <stagecraft/threads/first_failure.hpp>
#include <stagecraft/threads/progress.hpp>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <doctest/doctest.h>
#include <exception>
#include <stdexcept>
#include <thread>
#include <vector>

#include "../engine/random_numbers.hpp"

namespace sc = stagecraft;

static_assert(alignof(sc::threads::progress) == 64);
static_assert(sizeof(sc::threads::progress) % 64 == 0);

namespace {

constexpr auto never = [] { return false; };

}  // namespace

TEST_CASE("a count that is reached is not waited for") {
  sc::threads::progress count;
  CHECK(count.value() == 0);
  CHECK(count.await(0, never, 0));
  CHECK(count.await(-3, never, 0));
  count.publish(5);
  CHECK(count.value() == 5);
  CHECK(count.await(5, never, 0));
  CHECK(count.await(5, [] { return true; }, 10));
  CHECK_FALSE(count.await(6, [] { return true; }, 10));
  count.reset(2);
  CHECK(count.value() == 2);
}

TEST_CASE("no wake-up is lost, whether threads wait in a loop or sleep, and for whichever values") {
  for (int patience : {0, 3, 4000}) {
    constexpr std::int64_t last = 8000;
    sc::threads::progress count;
    std::int64_t written = 0;
    std::atomic<bool> right = true;
    std::vector<std::thread> waiting;
    for (std::int64_t stride : {1, 4, 13})
      waiting.emplace_back([&, stride] {
        for (std::int64_t value = stride; value <= last; value += stride)
          if (!count.await(value, never, patience) || count.value() < value) right = false;
        if (!count.await(last, never, patience) || written != last) right = false;
      });
    random_numbers random{static_cast<std::uint64_t>(patience)};
    for (std::int64_t value = 1; value <= last; ++value) {
      random.linger();
      if (value % 1000 == 0) std::this_thread::sleep_for(std::chrono::microseconds(300));
      written = value;                                            // read by those who have waited for the last one
      if (value % 5 != 0 || value == last) count.publish(value);  // some more than one at once
    }
    for (auto& thread : waiting) thread.join();
    CHECK(right);
  }
}

TEST_CASE("who is told to stop stops, asleep or not") {
  for (int round = 0; round < 400; ++round) {
    sc::threads::progress count;
    sc::threads::first_failure failure;
    std::atomic<bool> reached = false;
    std::thread waits([&] { reached = count.await(1, [&] { return failure.failed(); }, round % 2 == 0 ? 0 : 4000); });
    if (round % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(100));
    failure.fail();
    count.wake();
    waits.join();
    CHECK(!reached);
  }
}

TEST_CASE("the first failure is kept") {
  sc::threads::first_failure failure;
  CHECK(!failure.failed());
  CHECK(failure.fail(std::make_exception_ptr(std::runtime_error("first"))));
  CHECK_FALSE(failure.fail(std::make_exception_ptr(std::runtime_error("second"))));
  CHECK_FALSE(failure.fail());
  CHECK(failure.failed());
  CHECK_THROWS_WITH_AS(std::rethrow_exception(failure.clear()), "first", std::runtime_error);
  CHECK(!failure.failed());
  CHECK(failure.fail());
  CHECK(failure.error() == nullptr);
}

TEST_CASE("a background thread does one job after the other") {
  sc::threads::background_thread thread;
  thread.wait();  // for nothing
  int done = 0;
  auto job = [&] { ++done; };
  for (int round = 1; round <= 1000; ++round) {
    thread.start(job);
    thread.wait();
    REQUIRE(done == round);
    if (round % 2 == 0) thread.wait();
  }
  thread.start(job);
  thread.start(job);  // after the one before
  thread.wait();
  CHECK(done == 1002);
}

TEST_CASE("the end of a background thread waits for its job") {
  std::atomic<bool> done = false;
  auto job = [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    done = true;
  };
  {
    sc::threads::background_thread thread;
    thread.start(job);
  }
  CHECK(done);
}
