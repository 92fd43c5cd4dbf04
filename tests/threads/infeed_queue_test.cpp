// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/threads/infeed_queue.hpp>
#include <stagecraft/threads/thread_team.hpp>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <doctest/doctest.h>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "../engine/random_numbers.hpp"

namespace sc = stagecraft;

namespace {

struct batch {
  std::int64_t number = -1;
  std::vector<std::int64_t> rows = std::vector<std::int64_t>(40, -1);

  void set(std::int64_t value) {
    number = value;
    for (auto& row : rows) row = value;
  }
  [[nodiscard]] bool is(std::int64_t value) const {
    for (auto const row : rows)
      if (row != value) return false;
    return number == value;
  }
};

auto const make = [] { return batch{}; };
auto const fill = [](batch& to, std::int64_t number) { to.set(number); };

void check_throws(auto const& call, std::string const& code, std::string const& text) {
  try {
    call();
    FAIL("nothing was thrown");
  } catch (sc::data_error const& error) {
    CHECK(error.code() == code);
    CHECK(std::string(error.what()).find(text) != std::string::npos);
  }
}

}  // namespace

TEST_CASE("batches come in order, each in one of the elements that were made once") {
  for (int replicas : {1, 2, 3}) {
    for (int depth : {1, 2, 3, 255}) {
      int made = 0;
      sc::threads::infeed_queue<batch> queue(replicas, depth, [&] {
        ++made;
        return batch{};
      });
      CHECK(made == replicas * depth);
      std::set<batch const*> places;
      std::int64_t const total = 600L * replicas;
      std::vector<std::int64_t> filled;
      auto const count = [&](batch& to, std::int64_t number) {
        filled.push_back(number);
        to.set(number);
      };
      auto const filling = queue.start(total, count);
      for (std::int64_t number = 0; number < total; ++number) {
        auto const& taken = queue.take(number);
        REQUIRE(taken.is(number));
        places.insert(&taken);
        queue.release(number);
      }
      queue.stop();
      CHECK(made == replicas * depth);
      CHECK(places.size() <= static_cast<std::size_t>(made));
      REQUIRE(filled.size() == static_cast<std::size_t>(total));
      for (std::size_t i = 0; i < filled.size(); ++i) REQUIRE(filled[i] == static_cast<std::int64_t>(i));
    }
  }
}

TEST_CASE("a replica may run ahead of another by the depth of its ring") {
  constexpr int depth = 4;
  sc::threads::infeed_queue<batch> queue(2, depth, make);
  auto const filling = queue.start(2 * depth, fill);
  for (int replica : {0, 1})
    for (int step = 0; step < depth; ++step) {
      CHECK(queue.take(2 * step + replica).is(2 * step + replica));
      queue.release(2 * step + replica);
    }
}

TEST_CASE("replicas that take at their own speed get their own batches") {
  for (int replicas : {2, 3, 5}) {
    sc::threads::thread_team team(replicas);
    sc::threads::infeed_queue<batch> queue(replicas, 3, make);
    for (int epoch = 0; epoch < 20; ++epoch) {
      constexpr std::int64_t steps = 300;
      auto const filling = queue.start(steps * replicas, fill);
      std::atomic<bool> right = true;
      auto work = [&](int replica) {
        random_numbers random{static_cast<std::uint64_t>(epoch * 8 + replica)};
        for (std::int64_t step = 0; step < steps; ++step) {
          auto const number = step * replicas + replica;
          auto const& taken = queue.take(number);
          random.linger();
          if (!taken.is(number)) right = false;
          queue.release(number);
        }
      };
      team.run(work);
      CHECK(right);
    }
  }
}

TEST_CASE("what the filling throws comes out of take, after the batches before it") {
  for (int replicas : {1, 3}) {
    sc::threads::thread_team team(replicas);
    sc::threads::infeed_queue<batch> queue(replicas, 2, make);
    for (std::int64_t bad = 0; bad < 40; ++bad) {
      auto const fails = [&](batch& to, std::int64_t number) {
        if (number == bad) throw std::runtime_error("no batch " + std::to_string(number));
        to.set(number);
      };
      auto const filling = queue.start(100, fails);
      std::atomic<bool> right = true;
      auto work = [&](int replica) {
        for (std::int64_t number = replica; number < bad; number += replicas) {
          if (!queue.take(number).is(number)) right = false;
          queue.release(number);
        }
        // Each replica's next one is the bad one, or comes after it.
        auto const next = replica + (bad - replica + replicas - 1) / replicas * replicas;
        try {
          static_cast<void>(queue.take(next < replica ? replica : next));
          right = false;
        } catch (std::runtime_error const& error) {
          if (error.what() != "no batch " + std::to_string(bad)) right = false;
        }
      };
      team.run(work);
      CHECK(right);
      auto const again = queue.start(2, fill);  // and it works again
      CHECK(queue.take(0).is(0));
    }
  }
}

TEST_CASE("a run can end anywhere, and the next one starts at its own first batch") {
  sc::threads::infeed_queue<batch> queue(2, 3, make);
  random_numbers random{1};
  for (int run = 0; run < 3000; ++run) {
    std::int64_t const offset = 1000 * run, total = random.below(30);
    auto const fill_run = [offset](batch& to, std::int64_t number) { to.set(offset + number); };
    auto const filling = queue.start(total, fill_run);
    auto const taken = total == 0 ? 0 : random.below(static_cast<std::uint32_t>(total));
    for (std::int64_t number = 0; number < taken; ++number) {
      REQUIRE(queue.take(number).is(offset + number));
      queue.release(number);
    }
    if (run % 2 == 0) {
      queue.stop();
      CHECK_THROWS_AS(static_cast<void>(queue.take(0)), sc::data_error);
    }
  }
}

TEST_CASE("a batch that nobody has started, or that does not come any more, is an error") {
  sc::threads::infeed_queue<batch> queue(2, 1, make);
  check_throws([&] { static_cast<void>(queue.take(0)); }, "E4060", "one of 0 batches, found 0");
  auto const filling = queue.start(8, fill);
  check_throws([&] { static_cast<void>(queue.take(8)); }, "E4060", "one of 8 batches, found 8");
  check_throws([&] { static_cast<void>(queue.take(-1)); }, "E4060", "one of 8 batches, found -1");

  // Replica 1 waits for its second batch: first that of replica 0 has to be made, and there is no room for it.
  CHECK(queue.take(1).is(1));
  queue.release(1);
  std::thread canceller([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    queue.cancel();
  });
  check_throws([&] { static_cast<void>(queue.take(3)); }, "E4061", "batch 3 does not come: the queue was cancelled");
  canceller.join();
}

TEST_CASE("a team that fails anywhere leaves nobody at the queue") {
  for (int replicas : {2, 4}) {
    sc::threads::thread_team team(replicas);
    sc::threads::infeed_queue<batch> queue(replicas, 2, make);
    random_numbers seeds{static_cast<std::uint64_t>(replicas)};
    int failed = 0;
    for (int run = 0; run < 1500; ++run) {
      constexpr std::int64_t steps = 12;
      auto const seed = seeds.below(1U << 20U);
      auto const bad = seeds.below(200);
      std::atomic<bool> right = true;
      auto const fill_or_fail = [&](batch& to, std::int64_t number) {
        if (number == bad) throw std::runtime_error("fill");
        to.set(number);
      };
      auto const filling = queue.start(steps * replicas, fill_or_fail);
      auto work = [&](int replica) {
        random_numbers random{seed * 8U + static_cast<std::uint64_t>(replica)};
        for (std::int64_t step = 0; step < steps; ++step) {
          if (random.below(100) == 0) throw std::runtime_error("work");
          auto const number = step * replicas + replica;
          if (!queue.take(number).is(number)) right = false;
          random.linger();
          queue.release(number);
        }
      };
      try {
        team.run(work, [&] { queue.cancel(); });
      } catch (std::runtime_error const& error) {
        ++failed;
        std::string const text = error.what();
        REQUIRE((text == "work" || text == "fill"));  // never that of a thread that was only waiting
      }
      REQUIRE(right);
    }
    CHECK(failed > 0);
    CHECK(failed < 1500);
  }
}
