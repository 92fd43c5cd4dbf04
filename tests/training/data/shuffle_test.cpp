// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/training/data/shuffle.hpp>

#include <doctest/doctest.h>

#include <array>
#include <vector>

namespace sc = stagecraft;

// The order is part of the library's promise of determinism: the compiler finds it, too.
constexpr std::array<std::int32_t, 8> shuffled(std::uint64_t seed, std::uint64_t epoch) {
  std::array<std::int32_t, 8> order{};
  sc::trainers::shuffle_order(order, seed, epoch);
  return order;
}
static_assert(shuffled(1, 0) == shuffled(1, 0));
static_assert(shuffled(1, 0) != shuffled(1, 1));
static_assert(shuffled(1, 0) != shuffled(2, 0));
static_assert(shuffled(1, 0) == std::array<std::int32_t, 8>{3, 4, 7, 6, 1, 5, 0, 2});

TEST_CASE("an order is a permutation, and each place gets each sample equally often") {
  constexpr int size = 6, rounds = 6000;
  int hits[size][size] = {};
  std::vector<std::int32_t> order(size);
  for (int epoch = 0; epoch < rounds; ++epoch) {
    sc::trainers::shuffle_order(order, 42, static_cast<std::uint64_t>(epoch));
    unsigned seen = 0;
    for (int place = 0; place < size; ++place) {
      seen |= 1u << order[static_cast<std::size_t>(place)];
      ++hits[place][order[static_cast<std::size_t>(place)]];
    }
    REQUIRE(seen == (1u << size) - 1);
  }
  for (auto const& row : hits)
    for (int const count : row) CHECK(count == doctest::Approx(rounds / size).epsilon(0.15));
}

TEST_CASE("epochs cut their order into batches, the last one may be short") {
  sc::trainers::epoch_order plain(10, false, 7);
  plain.begin_epoch(3);
  CHECK(plain.batches(4) == 3);
  CHECK(plain.batches(4, true) == 2);
  CHECK(plain.batches(5) == 2);
  CHECK(plain.batch(1, 4, 3).size() == 4);
  CHECK(plain.batch(1, 4, 3)[0] == 4);
  CHECK(plain.batch(2, 4, 3).size() == 2);
  CHECK(plain.batch(2, 4, 3)[1] == 9);

  sc::trainers::epoch_order shuffled_order(100, true, 7), again(100, true, 7);
  shuffled_order.begin_epoch(0);
  shuffled_order.begin_epoch(5);
  again.begin_epoch(5);
  bool in_order = true;
  for (std::size_t i = 0; i < 100; ++i) {
    REQUIRE(shuffled_order.batch(0, 100, 1)[i] == again.batch(0, 100, 1)[i]);
    in_order = in_order && again.batch(0, 100, 1)[i] == static_cast<std::int32_t>(i);
  }
  CHECK_FALSE(in_order);
}

TEST_CASE("epochs of a given length go on in the data") {
  constexpr int size = 4, batches = 3, steps = 2;  // 10 samples
  sc::trainers::epoch_order whole(10, true, 7), parts(10, true, 7);
  for (int epoch = 0; epoch < 6; ++epoch) {
    parts.continue_epoch(epoch, steps, batches);
    for (int step = 0; step < steps; ++step) {
      int const number = epoch * steps + step;
      whole.begin_epoch(number / batches);
      auto const expected = whole.batch(number % batches, size, batches);
      auto const found = parts.batch(step, size, batches);
      REQUIRE(found.size() == expected.size());
      for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i] == expected[i]);
    }
  }
}
