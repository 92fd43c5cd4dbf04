// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/threads/outfeed_queue.hpp>
#include <chrono>
#include <cstdint>
#include <doctest/doctest.h>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace sc = stagecraft;

namespace {

auto const make = [] { return -1; };
auto write(int value) {
  return [value](int& to) { to = value; };
}

/// The steps that were handed out, and their results.
struct handler {
  std::vector<std::int64_t> steps;
  std::vector<std::vector<int>> results;
  void operator()(std::int64_t step, std::span<int> of_step) {
    steps.push_back(step);
    results.emplace_back(of_step.begin(), of_step.end());
  }
};

using steps = std::vector<std::int64_t>;
using results = std::vector<std::vector<int>>;

}  // namespace

TEST_CASE("all: a step is handed out when every replica has given its result") {
  sc::threads::outfeed_queue<int> queue(2, 3, sc::outfeed_mode::all, make);
  CHECK(queue.replicas() == 2);
  handler seen;
  CHECK(queue.dequeue(seen) == 0);
  queue.push(0, write(10));
  queue.push(0, write(11));
  CHECK(queue.dequeue(seen) == 0);
  queue.push(1, write(20));
  CHECK(queue.dequeue(seen) == 1);
  queue.push(1, write(21));
  queue.push(0, write(12));
  queue.push(1, write(22));
  CHECK(queue.dequeue(seen) == 2);
  CHECK(seen.steps == steps{0, 1, 2});
  CHECK(seen.results == results{{10, 20}, {11, 21}, {12, 22}});
}

TEST_CASE("all: the places are used again") {
  sc::threads::outfeed_queue<int> queue(1, 2, sc::outfeed_mode::all, make);
  handler seen;
  for (int step = 0; step < 100; ++step) {
    queue.push(0, write(step));
    if (step % 2 == 1) CHECK(queue.dequeue(seen) == 2);
  }
  for (int step = 0; step < 100; ++step) CHECK(seen.results[static_cast<std::size_t>(step)] == std::vector<int>{step});
}

TEST_CASE("last: the newest result replaces those before it, and nobody waits") {
  sc::threads::outfeed_queue<int> queue(2, 1, sc::outfeed_mode::last, make);
  handler seen;
  CHECK(queue.dequeue(seen) == 0);
  for (int step = 0; step < 50; ++step) queue.push(0, write(step));
  for (int step = 0; step < 50; ++step) queue.push(1, write(100 + step));
  CHECK(queue.dequeue(seen) == 1);
  CHECK(seen.steps == steps{49});
  CHECK(seen.results == results{{49, 149}});
  CHECK(queue.dequeue(seen) == 0);
  queue.push(0, write(1));
  queue.push(1, write(2));
  CHECK(queue.dequeue(seen) == 1);
  CHECK(seen.steps == steps{49, 50});
}

TEST_CASE("last cannot be polled") {
  sc::threads::outfeed_queue<int> queue(1, 1, sc::outfeed_mode::last, make);
  handler seen;
  try {
    queue.poll(seen);
    FAIL("nothing was thrown");
  } catch (sc::data_error const& error) {
    CHECK(error.code() == "E4062");
  }
}

TEST_CASE("a closed queue gives what is complete, then says that there is no more") {
  sc::threads::outfeed_queue<int> queue(2, 4, sc::outfeed_mode::all, make);
  queue.push(0, write(1));
  queue.push(1, write(2));
  queue.push(0, write(3));  // the other replica does not come as far
  queue.close();
  handler seen;
  CHECK(queue.poll(seen));
  CHECK_FALSE(queue.poll(seen));
  CHECK(seen.results == results{{1, 2}});

  queue.start();
  queue.push(0, write(5));
  queue.push(1, write(6));
  CHECK(queue.poll(seen));
  CHECK(seen.steps == steps{0, 0});
  CHECK(seen.results.back() == std::vector<int>{5, 6});
}

TEST_CASE("a result that cannot be written is not given") {
  sc::threads::outfeed_queue<int> queue(1, 1, sc::outfeed_mode::all, make);
  CHECK_THROWS_WITH_AS(queue.push(0, [](int&) { throw std::runtime_error("no result"); }), "no result",
                       std::runtime_error);
  handler seen;
  CHECK(queue.dequeue(seen) == 0);
  queue.push(0, write(3));
  CHECK(queue.dequeue(seen) == 1);
}

TEST_CASE("what the handler throws comes out of the producers' next push") {
  sc::threads::outfeed_queue<int> queue(2, 2, sc::outfeed_mode::all, make);
  auto const fails = [](std::int64_t, std::span<int>) { throw std::runtime_error("handler"); };
  for (int round = 0; round < 3; ++round) {
    queue.push(0, write(1));
    queue.push(1, write(2));
    CHECK_THROWS_WITH_AS(queue.poll(fails), "handler", std::runtime_error);
    CHECK(queue.failure().failed());
    for (int replica : {0, 1}) CHECK_THROWS_WITH_AS(queue.push(replica, write(1)), "handler", std::runtime_error);
    handler seen;
    CHECK_FALSE(queue.poll(seen));
    queue.start();
  }
}

TEST_CASE("a producer that waits for room is woken when the queue is cancelled") {
  sc::threads::outfeed_queue<int> queue(1, 1, sc::outfeed_mode::all, make);
  queue.push(0, write(1));
  std::thread canceller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    queue.cancel();
  });
  try {
    queue.push(0, write(2));
    FAIL("nothing was thrown");
  } catch (sc::data_error const& error) {
    CHECK(error.code() == "E4061");
    CHECK(std::string(error.what()).find("step 1 of replica 0") != std::string::npos);
  }
  canceller.join();
  handler seen;
  CHECK_FALSE(queue.poll(seen));
}
