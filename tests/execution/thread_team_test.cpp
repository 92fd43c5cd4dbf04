// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/execution/thread_team.hpp>
#include <array>
#include <atomic>
#include <doctest/doctest.h>
#include <stdexcept>
#include <vector>

namespace sc = stagecraft;

TEST_CASE("every thread works, with its own number") {
  for (int size : {1, 2, 3, 5}) {
    sc::thread_team team(size);
    CHECK(team.size() == size);
    std::vector<int> calls(static_cast<std::size_t>(size), 0);
    auto work = [&](int thread) { ++calls[static_cast<std::size_t>(thread)]; };
    for (int round = 0; round < 100; ++round) team.run(work);
    for (int count : calls) CHECK(count == 100);
  }
}

TEST_CASE("no thread passes a synchronization before all have come") {
  constexpr int threads = 3, phases = 200;
  sc::thread_team team(threads);
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
  sc::thread_team team(3);
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

TEST_CASE("a team that never works can be stopped") { sc::thread_team const team(4); }
