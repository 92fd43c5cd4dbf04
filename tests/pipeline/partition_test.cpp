// SPDX-License-Identifier: BSD-3-Clause
// Partitions: against all partitions there are, on random small orders; what constant evaluation allows.
#include <stagecraft/pipeline/partition.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <doctest/doctest.h>
#include <random>
#include <span>
#include <tuple>
#include <vector>

namespace sc = stagecraft;
using sc::pipeline::partition_objective;

namespace {

template <std::size_t Count>
constexpr sc::pipeline::partition split(std::array<long long, Count> const& cycles, int stages) {
  return sc::pipeline::find_partition({.cycles = cycles}, {.min_stages = stages, .max_stages = stages});
}

static_assert(split(std::array{1LL, 1LL, 1LL, 1LL}, 2).first[1] == 2);
static_assert(split(std::array{1LL, 2LL, 3LL, 4LL, 5LL, 6LL, 7LL, 8LL, 9LL}, 3).cycles == 17);
static_assert(split(std::array{9LL, 1LL, 1LL, 1LL}, 3) ==
              sc::pipeline::partition{.stages = 3, .first = {0, 1, 2, 4}, .cycles = 9});
static_assert(!split(std::array{1LL, 1LL}, 3).found() && !split(std::array<long long, 0>{}, 1).found());
static_assert(split(std::array{1LL, 2LL, 3LL, 4LL}, 2).stage_of(2) == 0);
static_assert(split(std::array{1LL, 2LL, 3LL, 4LL}, 2).stage_of(3) == 1);
static_assert(!sc::pipeline::find_partition({.cycles = std::array{1LL}}, {.min_stages = 2, .max_stages = 1}).found());

// An order as long as ResNet-50's, into sixteen stages, is one constant; transfers, kinds and memory are all different.
constexpr std::size_t long_order = 176;
constexpr sc::pipeline::partition into_sixteen(partition_objective objective, bool equal_transfers) {
  std::array<long long, long_order> cycles{}, transfer{}, exclusive{}, temporary{};
  std::array<int, long_order> kind{};
  std::array<long long, 9> shared{};
  unsigned state = 7;
  auto const random = [&] { return (state = state * 1664525U + 1013904223U) >> 8; };
  for (auto& value : shared) value = random();
  for (std::size_t i = 0; i < long_order; ++i) {
    cycles[i] = static_cast<long long>(random()) * 1000 + random();
    transfer[i] = equal_transfers ? 1 : random() * 700LL;
    exclusive[i] = random();
    temporary[i] = random() % 4000000;
    kind[i] = static_cast<int>(random() % 9);
  }
  return sc::pipeline::find_partition({.cycles = cycles,
                                       .transfer = transfer,
                                       .exclusive = exclusive,
                                       .temporary = temporary,
                                       .kind = kind,
                                       .shared = shared,
                                       .capacity = 400000000},
                                      {.min_stages = 2, .max_stages = 16, .objective = objective});
}
constexpr auto quick = into_sixteen(partition_objective::cycles, false);
constexpr auto small = into_sixteen(partition_objective::memory, false);
constexpr auto few = into_sixteen(partition_objective::stages, false);
constexpr auto level = into_sixteen(partition_objective::cycles, true);
static_assert(quick.found() && small.found() && few.found() && level.found());
static_assert(quick.period() <= small.period() && quick.period() <= few.period());
static_assert(small.memory <= quick.memory && few.stages <= quick.stages && level.stages == 16);

int pick(std::mt19937& random, int from, int to) {
  return from + static_cast<int>(random() % static_cast<unsigned>(to - from + 1));
}

/// A random order that owns its numbers.
struct random_order {
  std::vector<long long> cycles, transfer, exclusive, temporary, shared;
  std::vector<int> kind;
  std::array<bool, 16> joined{};
  sc::pipeline::partition_costs costs;

  explicit random_order(std::mt19937& random) {
    int const count = pick(random, 1, 10), highest = pick(random, 0, 1) == 0 ? 3 : 100;
    for (int i = 0; i < count; ++i) {
      cycles.push_back(pick(random, 0, 3) == 0 ? 0 : pick(random, 0, highest));
      transfer.push_back(pick(random, 0, highest));
      exclusive.push_back(pick(random, 0, 20));
      temporary.push_back(pick(random, 0, 20));
      kind.push_back(pick(random, -1, 2));
      joined[static_cast<std::size_t>(i)] = pick(random, 0, 5) == 0;
    }
    for (int i = 0; i < 3; ++i) shared.push_back(pick(random, 0, 20));
    costs.cycles = cycles;
    if (pick(random, 0, 3) > 0) costs.transfer = transfer;
    if (pick(random, 0, 1) > 0) costs.joined = std::span(joined).first(cycles.size());
    if (pick(random, 0, 4) == 0) return;
    costs.exclusive = exclusive;
    costs.temporary = temporary;
    costs.kind = kind;
    costs.shared = shared;
    if (pick(random, 0, 4) > 0) costs.capacity = pick(random, 10, 150);
  }
};

/// What a set of cuts costs, by the definition.
sc::pipeline::partition judge(sc::pipeline::partition_costs const& costs, unsigned cuts) {
  sc::pipeline::partition result;
  int first = 0;
  for (int i = 1; i <= costs.size(); ++i) {
    if (i < costs.size() && (cuts >> i & 1) == 0) continue;
    if (i < costs.size() && !costs.joined.empty() && costs.joined[static_cast<std::size_t>(i)]) return {};
    long long cycles = 0, memory = 0, temporary = 0;
    std::array<bool, 3> has_kind{};
    for (int k = first; k < i; ++k) {
      auto const at = static_cast<std::size_t>(k);
      cycles += costs.cycles[at];
      if (costs.exclusive.empty()) continue;
      memory += costs.exclusive[at];
      temporary = std::max(temporary, costs.temporary[at]);
      if (costs.kind[at] >= 0) has_kind[static_cast<std::size_t>(costs.kind[at])] = true;
    }
    for (std::size_t k = 0; k < 3; ++k) memory += has_kind[k] ? costs.shared[k] : 0;
    memory += temporary;
    if (costs.capacity >= 0 && memory > costs.capacity) return {};
    result.cycles = std::max(result.cycles, cycles);
    result.memory = std::max(result.memory, memory);
    if (first > 0 && !costs.transfer.empty())
      result.transfer = std::max(result.transfer, costs.transfer[static_cast<std::size_t>(first)]);
    result.first[static_cast<std::size_t>(++result.stages)] = i;
    first = i;
  }
  return result;
}

/// What an objective compares, the smaller the better; at last, fewer stages.
std::tuple<long long, long long, int> rank(sc::pipeline::partition const& one, partition_objective objective) {
  if (objective == partition_objective::memory) return {one.memory, one.period(), one.stages};
  if (objective == partition_objective::stages) return {one.stages, one.period(), one.stages};
  return {one.period(), 0, one.stages};
}

}  // namespace

TEST_CASE("no partition is better than the one that is found") {
  std::mt19937 random(20);
  int found = 0;
  for (int round = 0; round < 6000; ++round) {
    random_order const order(random);
    auto const& costs = order.costs;
    int const least = pick(random, 1, 4), most = least + pick(random, 0, 4);
    for (auto const objective :
         {partition_objective::cycles, partition_objective::memory, partition_objective::stages}) {
      auto const result = sc::pipeline::find_partition(costs, {least, most, objective});
      sc::pipeline::partition best;
      for (unsigned cuts = 0; cuts < 1U << costs.size(); cuts += 2) {
        auto const other = judge(costs, cuts);
        if (other.stages < least || other.stages > most) continue;
        if (!best.found() || rank(other, objective) < rank(best, objective)) best = other;
      }
      CAPTURE(round);
      REQUIRE(result.found() == best.found());
      if (!best.found()) continue;
      ++found;
      unsigned cuts = 0;
      for (int s = 1; s < result.stages; ++s) cuts |= 1U << result.first[static_cast<std::size_t>(s)];
      CHECK(judge(costs, cuts) == result);
      CHECK(rank(result, objective) == rank(best, objective));
    }
  }
  CHECK(found > 5000);
}

TEST_CASE("long orders are even, and no search over bounds goes astray") {
  std::mt19937 random(21);
  for (int round = 0; round < 50; ++round) {
    std::vector<long long> cycles;
    long long sum = 0, highest = 0;
    for (int i = 0; i < 500; ++i) {
      cycles.push_back(pick(random, 0, 1000000000));
      sum += cycles.back();
      highest = std::max(highest, cycles.back());
    }
    int const stages = pick(random, 1, 64);
    auto const result = sc::pipeline::find_partition({.cycles = cycles}, {stages, stages});
    REQUIRE(result.stages == stages);
    CHECK(result.cycles <= sum / stages + highest);
    CHECK(result.cycles * stages >= sum);
  }
}
