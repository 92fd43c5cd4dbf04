// SPDX-License-Identifier: BSD-3-Clause
// What the tests of kernels that threads share include: fractions, and the check that the number of threads changes no
// bit.
#pragma once

#include <stagecraft/threads/share.hpp>

#include "../larger_deviation.hpp"
#include "product/matmul_cases.hpp"

#include <cmath>
#include <cstring>
#include <functional>
#include <type_traits>
#include <vector>

namespace share_check {

namespace kernels = stagecraft::kernels;
using matmul_cases::buffer;

/// Numbers in [-0.5, 0.5).
inline void shuffled(buffer& values, unsigned seed) {
  for (int i = 0; i < values.size(); ++i) {
    seed = seed * 1664525U + 1013904223U;
    values.data()[i] = static_cast<float>(seed >> 16U) / 65536.0F - 0.5F;
  }
}

/// The largest difference from the expected numbers.
inline double deviation(float const* found, std::vector<double> const& expected) {
  double worst = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    double const difference = std::fabs(static_cast<double>(found[i]) - expected[i]);
    worst = larger_deviation(worst, difference);
  }
  return worst;
}

/// A kernel as a function whose type says nothing of its shape: the checks are compiled once for all kernels, and a
/// kernel once, however often it is called.
using kernel = std::function<void(kernels::share)>;

/// `work(part)` writes all of `result`, with the same bits for any number of threads.
inline void check_shares(buffer& result, kernel const& work) {
  for (int i = 0; i < result.size(); ++i) result.data()[i] = -77.0F;
  work(kernels::share{});
  std::vector<float> const whole(result.data(), result.data() + result.size());
  for (int const count : {2, 3, 7}) {
    for (int i = 0; i < result.size(); ++i) result.data()[i] = -77.0F;
    for (int index = count - 1; index >= 0; --index) work(kernels::share{index, count});
    CHECK(std::memcmp(result.data(), whole.data(), sizeof(float) * whole.size()) == 0);
    CHECK(result.guard_is_intact());
  }
}

/// The same for a kernel that writes, and one that adds. `expected` is what it adds.
inline void check_gradient(buffer& result, std::vector<double> expected, double tolerance, kernel const& write,
                           kernel const& add) {
  check_shares(result, write);
  CHECK(deviation(result.data(), expected) <= tolerance);
  for (int i = 0; i < result.size(); ++i) result.data()[i] = static_cast<float>(i % 5);
  add(kernels::share{});
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += static_cast<double>(i % 5);
  CHECK(deviation(result.data(), expected) <= 4 * tolerance);
  CHECK(result.guard_is_intact());
}

/// The same for both in one: run(accumulate, part).
template <class Run>
void check_gradient(buffer& result, std::vector<double> const& expected, double tolerance, Run const& run) {
  check_gradient(
      result, expected, tolerance, [&](kernels::share part) { run(std::false_type{}, part); },
      [&](kernels::share part) { run(std::true_type{}, part); });
}

}  // namespace share_check
