// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/threads/sharing_team.hpp>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <doctest/doctest.h>
#include <thread>
#include <vector>

#include "../engine/random_numbers.hpp"

namespace sc = stagecraft;

namespace {

/// The numbers 0, 1, ... of `count` phases, each phase's pieces from those of the phase before. It outlives the team.
struct table {
  table(int team_pieces, int phases)
      : pieces(static_cast<std::size_t>(team_pieces)),
        rows(static_cast<std::size_t>(phases) + 1, std::vector<std::int64_t>(pieces)) {}

  /// One phase; `before` a piece is written.
  template <class Before>
  void step(sc::threads::sharing_team::member& self, std::size_t phase, Before const& before) {
    self.divide([&](int piece) {
      before(piece);
      std::int64_t sum = 1;
      for (auto const value : rows[phase]) sum += value % 1000;
      rows[phase + 1][static_cast<std::size_t>(piece)] += sum + piece;
    });
  }
  void step(sc::threads::sharing_team::member& self, std::size_t phase) {
    step(self, phase, [](int) {});
  }
  void run(sc::threads::sharing_team& team) {
    auto const all = [this](sc::threads::sharing_team::member& self) {
      for (std::size_t phase = 0; phase + 1 < rows.size(); ++phase) step(self, phase);
    };
    team.run(all, all);
  }
  [[nodiscard]] std::uint64_t sum() const {
    std::uint64_t result = 0;
    for (auto const& row : rows)
      for (auto const value : row) result = result * 31 + static_cast<std::uint64_t>(value);
    return result;
  }

  std::size_t pieces;
  std::vector<std::vector<std::int64_t>> rows;
};

}  // namespace

TEST_CASE("each piece is done once, after all of the phase before") {
  for (int size : {1, 2, 3, 5}) {
    int const phases = 40;
    table found(size * sc::threads::sharing_team::pieces_per_thread, phases);
    sc::threads::sharing_team team(size);
    CHECK(team.size() == size);
    CHECK(team.pieces() == static_cast<int>(found.pieces));
    // The same on one thread: what each piece has found depends on all before.
    table expected = found;
    for (int round = 0; round < 20; ++round) {
      found.run(team);
      for (std::size_t phase = 0; phase < static_cast<std::size_t>(phases); ++phase)
        for (std::size_t piece = 0; piece < expected.pieces; ++piece) {
          std::int64_t sum = 1;
          for (auto const value : expected.rows[phase]) sum += value % 1000;
          expected.rows[phase + 1][piece] += sum + static_cast<std::int64_t>(piece);
        }
      REQUIRE(found.sum() == expected.sum());
    }
  }
}

TEST_CASE("nobody waits for a thread that has no piece") {
  constexpr int size = 3, phases = 10;
  std::atomic<bool> open = false;
  std::atomic<int> late_pieces = 0;
  table work(size * sc::threads::sharing_team::pieces_per_thread, phases);
  {
    sc::threads::sharing_team team(size);
    auto const lead = [&](sc::threads::sharing_team::member& self) {
      for (std::size_t phase = 0; phase < phases; ++phase) {
        work.step(self, phase);
        self.alone([] {});
      }
    };
    // It is kept from its processor, as far as the others can see, at the beginning or at a later phase.
    struct {
      std::atomic<bool> const* open;
      std::atomic<int>* late_pieces;
      void operator()(sc::threads::sharing_team::member& self) const {
        while (!*open) std::this_thread::sleep_for(std::chrono::microseconds(50));
        for (std::size_t phase = 0; phase < phases; ++phase) {
          self.divide([this](int) { ++*late_pieces; });
          self.alone([this] { ++*late_pieces; });
        }
      }
    } const help{&open, &late_pieces};
    for (int round = 1; round <= 5; ++round) {
      team.run(lead, help);
      for (auto const value : work.rows[1]) CHECK(value >= round);
    }
    CHECK(!open);
    open = true;
  }
  CHECK(late_pieces == 0);  // all was done when they came
}

TEST_CASE("what is done alone is done once, by the calling thread, between the phases") {
  sc::threads::sharing_team team(3);
  auto const caller = std::this_thread::get_id();
  static std::atomic<int> pieces, alone;
  static std::atomic<bool> right;
  pieces = 0;
  alone = 0;
  right = true;
  for (int round = 0; round < 200; ++round) {
    auto const both = [caller](sc::threads::sharing_team::member& self) {
      for (int phase = 0; phase < 3; ++phase) {
        self.divide([](int) { ++pieces; });
        self.alone([caller] {
          if (++alone * 6 != pieces || std::this_thread::get_id() != caller) right = false;
        });
      }
    };
    team.run(both, both);
  }
  CHECK(right);
  CHECK(alone == 600);
}

TEST_CASE("what any thread throws comes out, nobody goes on, and the team works on") {
  static std::atomic<int> in_pieces, failures;
  for (int size : {1, 2, 3, 5}) {
    sc::threads::sharing_team team(size);
    random_numbers random{static_cast<std::uint64_t>(size)};
    for (int round = 0; round < 1000; ++round) {
      int const where = static_cast<int>(random.below(4)), failing = static_cast<int>(random.below(6));
      int const first = static_cast<int>(random.below(static_cast<unsigned>(team.pieces())));
      auto const both = [where, failing, first](sc::threads::sharing_team::member& self) {
        for (int phase = 0; phase < 6; ++phase) {
          if (where == 0 && phase == failing && self.thread() == 0) throw phase;
          self.divide([&](int piece) {
            ++in_pieces;
            // One thread fails, or several at the same time.
            if (where == 1 && phase == failing && piece >= first) {
              --in_pieces;
              ++failures;
              throw phase;
            }
            --in_pieces;
          });
          self.divide([&](int) {
            if (where == 1 && phase == failing) ++failures;  // never
          });
          self.alone([&] {
            if (where == 2 && phase == failing) throw phase;
          });
          if (self.failed()) return;
        }
      };
      failures = 0;
      if (where == 3) {
        team.run(both, both);
        continue;
      }
      try {
        team.run(both, both);
        FAIL("nothing was thrown");
      } catch (int phase) {
        REQUIRE(phase == failing);
      }
      REQUIRE(in_pieces == 0);
      if (where == 1) {
        REQUIRE(failures >= 1);
        REQUIRE(failures <= size);
      }
    }
  }
}

TEST_CASE("a thread that sleeps in its phase is woken by the end of it, and by a failure") {
  sc::threads::sharing_team team(2);
  for (int round = 0; round < 60; ++round) {
    auto const both = [round](sc::threads::sharing_team::member& self) {
      self.divide([](int piece) {
        if (piece == 0) std::this_thread::sleep_for(std::chrono::microseconds(300));
      });
      self.alone([round] {
        std::this_thread::sleep_for(std::chrono::microseconds(300));
        if (round % 2 == 0) throw round;
      });
      self.divide([](int) {});
    };
    if (round % 2 == 0)
      CHECK_THROWS_AS(team.run(both, both), int);
    else
      team.run(both, both);
  }
}

TEST_CASE("a sharing team that never works can be stopped") { sc::threads::sharing_team const team(4); }
