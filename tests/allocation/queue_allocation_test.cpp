// SPDX-License-Identifier: BSD-3-Clause
// Teams and queues allocate when they are made, and never again: not for a run, and not for a batch or a result.
#include <stagecraft/threads/infeed_queue.hpp>
#include <stagecraft/threads/outfeed_queue.hpp>
#include <stagecraft/threads/sharing_team.hpp>
#include <stagecraft/threads/thread_team.hpp>

#include "counted_memory.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <span>

namespace sc = stagecraft;

TEST_CASE("runs of queues and teams allocate nothing") {
  constexpr int replicas = 2;
  constexpr std::int64_t steps = 50;
  auto const make = [] { return std::int64_t{0}; };
  sc::threads::thread_team team(replicas);
  sc::threads::infeed_queue<std::int64_t> infeed(replicas, 3, make);
  sc::threads::outfeed_queue<std::int64_t> outfeed(replicas, 3, sc::outfeed_mode::all, make);
  sc::threads::polling_thread<std::int64_t> polling(outfeed);
  auto const fill = [](std::int64_t& to, std::int64_t number) { to = number; };
  std::int64_t sum = 0;
  auto const handler = [&](std::int64_t, std::span<std::int64_t> results) {
    for (auto const result : results) sum += result;
  };
  auto work = [&](int replica) {
    for (std::int64_t step = 0; step < steps; ++step) {
      auto const number = step * replicas + replica;
      auto const batch = infeed.take(number);
      infeed.release(number);
      outfeed.push(replica, [&](std::int64_t& to) { to = batch; });
    }
  };
  long const before = allocations();
  for (int epoch = 0; epoch < 20; ++epoch) {
    auto const filling = infeed.start(steps * replicas, fill);
    auto const handling = polling.start(handler);
    team.run(work);
    polling.finish();
  }
  CHECK(allocations() == before);
  CHECK(sum == 20 * (steps * replicas) * (steps * replicas - 1) / 2);
}

TEST_CASE("runs of threads that share phases allocate nothing") {
  sc::threads::sharing_team team(3);
  auto const phases = [](sc::threads::sharing_team::member& self) {
    for (int phase = 0; phase < 20; ++phase) {
      self.divide([](int) {});
      self.alone([] {});
    }
  };
  long const before = allocations();
  for (int round = 0; round < 50; ++round) team.run(phases, phases);
  CHECK(allocations() == before);
}
