// SPDX-License-Identifier: BSD-3-Clause
// Reductions over replicas: their order, shards of every size, and the same bits for any number of workers.
#include <stagecraft/kernels/reduction/collectives.hpp>
#include <doctest/doctest.h>

#include "../product/matmul_cases.hpp"

#include <algorithm>
#include <barrier>
#include <bit>
#include <cmath>
#include <cstring>
#include <deque>
#include <thread>
#include <vector>

namespace {

namespace kernels = stagecraft::kernels;
using matmul_cases::buffer;

static_assert(kernels::shard_of(100, 0, 3).first == 0 && kernels::shard_of(100, 0, 3).last == 32);
static_assert(kernels::shard_of(100, 1, 3).last == 64 && kernels::shard_of(100, 2, 3).last == 100);
static_assert(kernels::shard_of(5, 0, 2).last == 0 && kernels::shard_of(5, 1, 2).last == 5);
static_assert(kernels::shard_of(0, 0, 2).last == 0);

constexpr int sizes[] = {1, 15, 16, 17, 63, 64, 65, 200, 1000};

/// Arrays whose sums depend on their order, and their addresses.
struct replica_arrays {
  replica_arrays(int count, int n) {
    for (int replica = 0; replica < count; ++replica) {
      float* const values = storage.emplace_back(n).data();
      for (int i = 0; i < n; ++i)
        values[i] = std::sin(static_cast<float>(i * 17 + replica * 5)) * std::ldexp(1.0F, (i + 9 * replica) % 21);
      writable.push_back(values);
      readable.push_back(values);
    }
  }
  [[nodiscard]] bool guards_are_intact() {
    bool intact = true;
    for (auto& each : storage) intact = intact && each.guard_is_intact();
    return intact;
  }

  std::deque<buffer> storage;
  std::vector<float*> writable;
  std::vector<float const*> readable;
};

/// The sum of `count` replicas from `first` on: of as many as the largest power of two below `count`, then the others.
float tree(replica_arrays const& arrays, int first, int count, int element) {
  if (count == 1) return arrays.readable[static_cast<std::size_t>(first)][element];
  int const half = static_cast<int>(std::bit_ceil(static_cast<unsigned>(count)) / 2);
  return tree(arrays, first, half, element) + tree(arrays, first + half, count - half, element);
}

std::vector<float> expected_of(replica_arrays const& arrays, int n, bool mean) {
  std::vector<float> result;
  for (int i = 0; i < n; ++i) {
    auto const count = static_cast<int>(arrays.readable.size());
    float const sum = tree(arrays, 0, count, i);
    result.push_back(mean ? sum / static_cast<float>(count) : sum);
  }
  return result;
}

bool equal(std::vector<float> const& expected, float const* found) {
  return std::memcmp(expected.data(), found, expected.size() * sizeof(float)) == 0;
}

template <class Arch, bool Mean>
void check_reductions() {
  CAPTURE(kernels::lanes<Arch>);
  for (int const count : {1, 2, 3, 4, 5, 7, 8, 12, 28})
    for (int const n : sizes) {
      CAPTURE(count);
      CAPTURE(n);
      {
        replica_arrays arrays(count, n);
        auto const expected = expected_of(arrays, n, Mean);
        buffer elsewhere(n);
        kernels::reduce_scatter<Mean, Arch>(arrays.readable.data(), count, elsewhere.data(), {0, n});
        CHECK(equal(expected, elsewhere.data()));
        CHECK(elsewhere.guard_is_intact());

        // Shard by shard, last one first.
        for (int replica = count; replica-- > 0;)
          kernels::reduce_scatter<Mean, Arch>(arrays.readable.data(), count,
                                              arrays.writable[static_cast<std::size_t>(replica)],
                                              kernels::shard_of(n, replica, count));
        for (int replica = 0; replica < count; ++replica) {
          auto const [first, last] = kernels::shard_of(n, replica, count);
          CHECK(std::equal(expected.begin() + first, expected.begin() + last, arrays.readable[replica] + first));
        }
        CHECK(arrays.guards_are_intact());
      }
      for (int const workers : {1, 2, 3, 5}) {
        replica_arrays arrays(count, n);
        auto const expected = expected_of(arrays, n, Mean);
        for (int worker = workers; worker-- > 0;)
          kernels::all_reduce<Mean, Arch>(arrays.writable.data(), count, kernels::share{worker, workers}.of(n, 16));
        for (float const* const replica : arrays.readable) CHECK(equal(expected, replica));
        CHECK(arrays.guards_are_intact());
      }
    }
}

template <class... Arch>
void check_all() {
  (check_reductions<Arch, false>(), ...);
  (check_reductions<Arch, true>(), ...);
}

}  // namespace

TEST_CASE("sums and means over replicas, in shards and in ranges") { check_all<MATMUL_ARCHITECTURES>(); }

TEST_CASE("sums of two, four or eight neighbours that were added up before have the bits of one sum") {
  constexpr int count = 16, n = 200;
  replica_arrays arrays(count, n);
  for (bool const mean : {false, true}) {
    auto const expected = expected_of(arrays, n, mean);
    for (int const size : {2, 4, 8}) {
      replica_arrays sums(count / size, n);
      for (int i = 0; i < count / size; ++i)
        kernels::reduce_scatter(arrays.readable.data() + i * size, size, sums.writable[static_cast<std::size_t>(i)],
                                {0, n});
      buffer all(n);
      if (mean)
        kernels::reduce_scatter<true>(sums.readable.data(), count / size, all.data(), {0, n}, count);
      else
        kernels::reduce_scatter(sums.readable.data(), count / size, all.data(), {0, n});
      CHECK(equal(expected, all.data()));
    }
  }
}

TEST_CASE("replicas on threads of their own reduce shards, again and again") {
  constexpr int count = 3, n = 1000, rounds = 5;
  replica_arrays arrays(count, n);
  replica_arrays alone(count, n);
  for (int round = 0; round < rounds; ++round) kernels::all_reduce(alone.writable.data(), count, {0, n});

  std::barrier<> everybody(count);
  auto const work = [&](int replica) {
    for (int round = 0; round < rounds; ++round) {
      everybody.arrive_and_wait();
      kernels::reduce_scatter(arrays.readable.data(), count, arrays.writable[static_cast<std::size_t>(replica)],
                              kernels::shard_of(n, replica, count));
      everybody.arrive_and_wait();
      for (int owner = 0; owner < count; ++owner) {
        auto const [first, last] = kernels::shard_of(n, owner, count);
        if (owner != replica)
          std::copy(arrays.readable[owner] + first, arrays.readable[owner] + last, arrays.writable[replica] + first);
      }
    }
  };
  std::vector<std::thread> threads;
  for (int replica = 0; replica < count; ++replica) threads.emplace_back(work, replica);
  for (auto& each : threads) each.join();
  for (std::size_t replica = 0; replica < count; ++replica)
    CHECK(std::memcmp(arrays.readable[replica], alone.readable[replica], n * sizeof(float)) == 0);
}
