// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/threads/infeed_queue.hpp>
#include <stagecraft/threads/outfeed_queue.hpp>
#include <stagecraft/threads/thread_team.hpp>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <doctest/doctest.h>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "../engine/random_numbers.hpp"

namespace sc = stagecraft;

namespace {

auto const make = [] { return std::int64_t{-1}; };
using results = std::span<std::int64_t>;

}  // namespace

TEST_CASE("every step is handled once, in order, with the results of all replicas") {
  for (int replicas : {1, 2, 4}) {
    for (int depth : {1, 3}) {
      sc::threads::thread_team team(replicas);
      sc::threads::outfeed_queue<std::int64_t> queue(replicas, depth, sc::outfeed_mode::all, make);
      sc::threads::polling_thread<std::int64_t> polling(queue);
      for (int epoch = 0; epoch < 20; ++epoch) {
        constexpr std::int64_t steps = 200;
        std::int64_t next = 0;
        bool right = true;
        auto const handler = [&](std::int64_t step, results of_step) {
          right = right && step == next++ && of_step.size() == static_cast<std::size_t>(replicas);
          for (int replica = 0; replica < replicas; ++replica)
            right = right && of_step[static_cast<std::size_t>(replica)] == 1000 * replica + step;
        };
        auto const handling = polling.start(handler);
        auto work = [&](int replica) {
          random_numbers random{static_cast<std::uint64_t>(epoch * 8 + replica)};
          for (std::int64_t step = 0; step < steps; ++step) {
            random.linger();
            queue.push(replica, [&](std::int64_t& to) { to = 1000 * replica + step; });
          }
        };
        team.run(work);
        polling.finish();
        CHECK(right);
        CHECK(next == steps);
      }
    }
  }
}

TEST_CASE("a queue that keeps the last result only is not polled") {
  sc::threads::outfeed_queue<std::int64_t> queue(1, 1, sc::outfeed_mode::last, make);
  sc::threads::polling_thread<std::int64_t> polling(queue);
  auto const handler = [](std::int64_t, results) {};
  CHECK_THROWS_AS(static_cast<void>(polling.start(handler)), sc::data_error);
}

TEST_CASE("what the handler throws comes out of finish, also when nobody pushes any more") {
  sc::threads::outfeed_queue<std::int64_t> queue(1, 3, sc::outfeed_mode::all, make);
  sc::threads::polling_thread<std::int64_t> polling(queue);
  auto const fails = [](std::int64_t, results) { throw std::runtime_error("handler"); };
  for (int round = 0; round < 200; ++round) {
    auto const handling = polling.start(fails);
    queue.push(0, [](std::int64_t& to) { to = 1; });
    CHECK_THROWS_WITH_AS(polling.finish(), "handler", std::runtime_error);
    int handled = 0;
    auto const works = [&](std::int64_t, results) { ++handled; };
    auto const again = polling.start(works);
    queue.push(0, [](std::int64_t& to) { to = 1; });
    polling.finish();
    CHECK(handled == 1);
  }
}

TEST_CASE("stopping drops what has not been handled") {
  sc::threads::outfeed_queue<std::int64_t> queue(1, 8, sc::outfeed_mode::all, make);
  sc::threads::polling_thread<std::int64_t> polling(queue);
  for (int round = 0; round < 300; ++round) {
    std::atomic<int> handled = 0;
    auto const handler = [&](std::int64_t, results) { ++handled; };
    auto const handling = polling.start(handler);
    for (int step = 0; step < round % 8; ++step) queue.push(0, [](std::int64_t& to) { to = 1; });
    polling.stop();
    int const then = handled;
    CHECK(then <= round % 8);
    CHECK_THROWS_AS(queue.push(0, [](std::int64_t& to) { to = 1; }), sc::data_error);
    CHECK(handled == then);
  }
}

TEST_CASE("batches in, results out, and failures and early ends anywhere: nobody is left behind") {
  for (int replicas : {1, 2, 3}) {
    sc::threads::thread_team team(replicas);
    sc::threads::infeed_queue<std::int64_t> infeed(replicas, 2, make);
    sc::threads::outfeed_queue<std::int64_t> outfeed(replicas, 2, sc::outfeed_mode::all, make);
    sc::threads::polling_thread<std::int64_t> polling(outfeed);
    random_numbers seeds{static_cast<std::uint64_t>(replicas)};
    int failed = 0;
    constexpr int runs = 2000;
    for (int run = 0; run < runs; ++run) {
      constexpr std::int64_t steps = 12;
      auto const seed = seeds.below(1U << 20U);
      std::int64_t const bad_batch = seeds.below(250), bad_result = seeds.below(100), last_step = seeds.below(30);
      std::int64_t handled = 0;
      std::atomic<bool> right = true, stop_early = false;
      auto const fill = [&](std::int64_t& to, std::int64_t number) {
        if (number == bad_batch) throw std::runtime_error("fill");
        to = number;
      };
      auto const handler = [&](std::int64_t step, results of_step) {
        if (step == bad_result) throw std::runtime_error("handler");
        if (step == last_step) stop_early = true;
        if (step != handled++) right = false;
        for (int replica = 0; replica < replicas; ++replica)
          if (of_step[static_cast<std::size_t>(replica)] != step * replicas + replica) right = false;
      };
      try {
        auto const filling = infeed.start(steps * replicas, fill);
        auto const handling = polling.start(handler);
        for (std::int64_t first = 0; first < steps && !stop_early; first += 4) {  // executions of four steps
          auto work = [&](int replica) {
            random_numbers random{seed * 64U + static_cast<std::uint64_t>(8 * first + replica)};
            for (std::int64_t step = first; step < first + 4; ++step) {
              if (random.below(150) == 0) throw std::runtime_error("work");
              auto const number = step * replicas + replica;
              auto const batch = infeed.take(number);
              infeed.release(number);
              random.linger();
              outfeed.push(replica, [&](std::int64_t& to) { to = batch; });
            }
          };
          team.run(work, [&] {
            infeed.cancel();
            outfeed.cancel();
          });
        }
        polling.finish();
        REQUIRE((handled == steps || stop_early));
      } catch (std::runtime_error const& error) {
        ++failed;
        std::string const text = error.what();
        REQUIRE((text == "work" || text == "fill" || text == "handler"));
      }
      REQUIRE(right);
    }
    CHECK(failed > 0);
    CHECK(failed < runs);
  }
}
