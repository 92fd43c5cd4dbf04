// SPDX-License-Identifier: BSD-3-Clause
// Random numbers and dropout: the same bits for any split and instruction set, and their statistics.
#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

#include <stagecraft/kernels/random/random.hpp>
#include <doctest/doctest.h>

namespace kernels = stagecraft::kernels;
using kernels::random_key;

// Known values: another compiler, flag or instruction set must give the same bits.
static_assert(kernels::random_bits(random_key(1, 2), 3) == 0x1DBF81E0U);
static_assert(kernels::random_bits(random_key(1, 2), (std::uint64_t{5} << 32U) + 3) == 0x4179829BU);
static_assert(random_key(1, 2) != random_key(2, 1));

TEST_CASE("a batch holds the numbers of its counters, across the 32-bit border too") {
  random_key const key(42, 7);
  for (std::uint64_t const first : {std::uint64_t{0}, std::uint64_t{12345}, std::uint64_t{0xFFFFFFF0U},
                                    std::uint64_t{0xFFFFFFFBU}, std::uint64_t{0x3FFFFFFFDU}}) {
    for (int const n : {1, 7, 15, 16, 17, 31, 64, 1000}) {
      std::vector<float> y(static_cast<std::size_t>(n) + 1, -77.0F);
      kernels::random_uniform_fill(y.data(), n, key, first);
      CHECK(y.back() == -77.0F);
      int wrong = 0;
      for (int i = 0; i < n; ++i)
        wrong += y[static_cast<std::size_t>(i)] != kernels::random_uniform(key, first + static_cast<std::uint64_t>(i));
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("uniform numbers: moments, buckets, and no correlation of neighbours, streams and seeds") {
  constexpr int n = 1 << 20;
  auto const draw = [](random_key const& key) {
    std::vector<float> y(n);
    kernels::random_uniform_fill(y.data(), n, key);
    return y;
  };
  auto const u = draw({0, 0});
  double const deviation = 1 / std::sqrt(12.0);
  auto const correlation = [&](std::vector<float> const& a, std::vector<float> const& b, int lag) {
    double sum = 0;
    for (int i = 0; i + lag < n; ++i)
      sum += (a[static_cast<std::size_t>(i)] - 0.5) * (b[static_cast<std::size_t>(i + lag)] - 0.5);
    return sum / n / (deviation * deviation);
  };
  double mean = 0;
  std::vector<int> buckets(256);
  for (float const value : u) {
    REQUIRE(value >= 0);
    REQUIRE(value < 1);
    mean += value;
    ++buckets[static_cast<std::size_t>(value * 256)];
  }
  double const limit = 5 / std::sqrt(static_cast<double>(n));  // five standard errors
  CHECK(std::fabs(mean / n - 0.5) < limit * deviation);
  double chi_squared = 0;
  for (int const count : buckets) chi_squared += (count - n / 256.0) * (count - n / 256.0) / (n / 256.0);
  CHECK(chi_squared < 255 + 5 * std::sqrt(2 * 255.0));
  CHECK(chi_squared > 255 - 5 * std::sqrt(2 * 255.0));
  for (int const lag : {1, 2, 3, 4, 8, 16, 17, 28, 784, 1024}) CHECK(std::fabs(correlation(u, u, lag)) < limit);
  for (std::uint64_t const other : {1U, 2U, 3U, 256U}) {
    CHECK(std::fabs(correlation(u, draw({0, other}), 0)) < limit);
    CHECK(std::fabs(correlation(u, draw({other, 0}), 0)) < limit);
    CHECK(std::fabs(correlation(draw({1, other}), draw({other, 1}), other == 1 ? 1 : 0)) < limit);
  }
}

TEST_CASE("every bit is set half of the time and flips half of the time") {
  random_key const key(9, 9);
  constexpr int n = 1 << 16;
  std::vector<int> set(32);
  std::vector<int> flipped(32);
  std::set<std::uint32_t> distinct;
  for (int i = 0; i < n; ++i) {
    auto const bits = kernels::random_bits(key, static_cast<std::uint64_t>(i));
    auto const next = kernels::random_bits(key, static_cast<std::uint64_t>(i) + 1);
    distinct.insert(bits);
    for (unsigned bit = 0; bit < 32; ++bit) {
      set[bit] += static_cast<int>(bits >> bit & 1U);
      flipped[bit] += static_cast<int>((bits ^ next) >> bit & 1U);
    }
  }
  double const limit = 5 * std::sqrt(n * 0.25);
  for (unsigned bit = 0; bit < 32; ++bit) {
    CHECK(std::fabs(set[bit] - n / 2.0) < limit);
    CHECK(std::fabs(flipped[bit] - n / 2.0) < limit);
  }
  CHECK(distinct.size() == n);  // a bijection of the lower 32 bits of the counter
}
