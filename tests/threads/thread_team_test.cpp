// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/threads/thread_team.hpp>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <doctest/doctest.h>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <vector>

#include "../engine/random_numbers.hpp"

namespace sc = stagecraft;

TEST_CASE("every thread works, with its own number") {
  for (int size : {1, 2, 3, 5}) {
    sc::threads::thread_team team(size);
    CHECK(team.size() == size);
    std::vector<int> calls(static_cast<std::size_t>(size), 0);
    auto work = [&](int thread) { ++calls[static_cast<std::size_t>(thread)]; };
    for (int round = 0; round < 100; ++round) team.run(work);
    for (int count : calls) CHECK(count == 100);
  }
}

TEST_CASE("no thread passes a synchronization before all have come") {
  constexpr int threads = 3, phases = 200;
  sc::threads::thread_team team(threads);
  std::array<std::array<int, phases>, threads> seen{};
  std::array<std::atomic<int>, phases> come{};
  std::atomic<bool> interrupted = false;
  auto work = [&](int thread) {
    for (std::size_t phase = 0; phase < phases; ++phase) {
      ++come[phase];
      if (!team.synchronize()) interrupted = true;
      seen[static_cast<std::size_t>(thread)][phase] = come[phase];
    }
  };
  team.run(work);
  CHECK(!interrupted);
  for (auto const& of_thread : seen)
    for (int count : of_thread) CHECK(count == threads);
}

TEST_CASE("what the calling thread throws comes out, and the team works on") {
  sc::threads::thread_team team(3);
  std::atomic<int> stopped = 0;
  for (int round = 0; round < 50; ++round) {
    auto fails = [&](int thread) {
      for (int phase = 0;; ++phase) {
        if (thread == 0 && phase == round % 4) throw std::runtime_error("stop");
        if (!team.synchronize()) break;
      }
      ++stopped;
    };
    CHECK_THROWS_WITH_AS(team.run(fails), "stop", std::runtime_error);
    CHECK(stopped == 2 * (round + 1));
    int total = 0;
    auto adds = [&](int thread) {
      team.synchronize();
      if (thread == 0) total = 1;
    };
    team.run(adds);
    CHECK(total == 1);
  }
}

TEST_CASE("what any thread throws comes out, the first one only") {
  for (int size : {1, 2, 3, 5}) {
    sc::threads::thread_team team(size);
    for (int round = 0; round < 2000; ++round) {
      int const first = round % size, second = round % (size + 1);  // one thread fails, or two at the same time
      std::atomic<int> went_on = 0;
      auto fails = [&](int thread) {
        for (int phase = 0;; ++phase) {
          if (phase == round % 3 && (thread == first || thread == second)) throw thread;
          if (!team.synchronize()) break;
          if (phase >= round % 3) ++went_on;
        }
      };
      try {
        team.run(fails);
        FAIL("nothing was thrown");
      } catch (int thrower) {
        REQUIRE((thrower == first || thrower == second));
      }
      REQUIRE(went_on == 0);
    }
  }
}

TEST_CASE("who fails first says so, once") {
  sc::threads::thread_team team(4);
  for (int round = 0; round < 500; ++round) {
    int calls = 0;
    auto fails = [](int thread) { throw thread; };
    CHECK_THROWS_AS(team.run(fails, [&] { ++calls; }), int);
    REQUIRE(calls == 1);
    auto works = [](int) {};
    team.run(works, [&] { ++calls; });
    REQUIRE(calls == 1);
  }
}

TEST_CASE("threads follow each other's counts") {
  for (int size : {1, 2, 3, 6}) {
    sc::threads::thread_team team(size);
    auto const threads = static_cast<std::size_t>(size);
    std::vector<sc::threads::progress> counts(threads);
    std::vector<std::int64_t> values(threads);  // each written by one thread, and read by the next one
    constexpr std::int64_t rounds = 3000;
    std::atomic<bool> right = true;
    for (int run = 0; run < 3; ++run) {
      for (auto& count : counts) count.reset();
      auto work = [&](int thread) {
        auto const own = static_cast<std::size_t>(thread);
        auto const before = (own + threads - 1) % threads;
        for (std::int64_t round = 1; round <= rounds; ++round) {
          // Round by round around the circle: the first thread waits for the last one's round before.
          std::int64_t const wanted = thread == 0 ? round - 1 : round;
          if (!team.await(counts[before], wanted) || (wanted > 0 && values[before] != wanted)) right = false;
          values[own] = round;
          counts[own].publish(round);
        }
      };
      team.run(work);
      CHECK(counts.back().value() == rounds);
    }
    CHECK(right);
  }
}

TEST_CASE("threads that fail anywhere leave nobody behind") {
  for (int size : {2, 3, 5}) {
    sc::threads::thread_team team(size);
    auto const threads = static_cast<std::size_t>(size);
    std::vector<sc::threads::progress> counts(threads);
    int failed = 0;
    random_numbers seeds{static_cast<std::uint64_t>(size)};
    for (int run = 0; run < 3000; ++run) {
      for (auto& count : counts) count.reset();
      auto const seed = seeds.below(1U << 20U);
      std::atomic<int> awake = size;
      auto work = [&](int thread) {
        random_numbers random{seed * 64U + static_cast<std::uint64_t>(thread)};
        auto const own = static_cast<std::size_t>(thread);
        bool goes_on = true;
        for (std::int64_t step = 1; goes_on && step <= 20; ++step) {
          if (random.below(60) == 0) {
            --awake;
            throw std::runtime_error("anywhere");
          }
          counts[own].publish(step);
          auto const other = (own + static_cast<std::size_t>(step)) % threads;
          goes_on = step % 7 == 0 ? team.synchronize() : team.await(counts[other], step);
        }
        --awake;
      };
      try {
        team.run(work);
      } catch (std::runtime_error const& error) {
        ++failed;
        REQUIRE(std::string_view(error.what()) == "anywhere");
      }
      REQUIRE(awake == 0);
    }
    CHECK(failed > 0);
    CHECK(failed < 3000);
  }
}

TEST_CASE("a thread that waits for a count that never comes is woken by a failure") {
  sc::threads::thread_team team(3);
  sc::threads::progress never;
  for (int round = 0; round < 100; ++round) {
    std::atomic<int> stopped = 0;
    auto work = [&](int thread) {
      if (thread == round % 3) {
        if (round % 2 == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));  // the others are asleep
        throw std::runtime_error("stop");
      }
      if (!team.await(never, 1)) ++stopped;
    };
    CHECK_THROWS_WITH_AS(team.run(work), "stop", std::runtime_error);
    CHECK(stopped == 2);
  }
}

TEST_CASE("a team that never works can be stopped") { sc::threads::thread_team const team(4); }
