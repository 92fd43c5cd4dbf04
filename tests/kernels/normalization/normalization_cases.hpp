// SPDX-License-Identifier: BSD-3-Clause
// What the tests of the normalizations share: numbers around a mean, and how far two arrays are apart.
#pragma once

#include <stagecraft/threads/share.hpp>

#include "../../larger_deviation.hpp"
#include "../product/matmul_cases.hpp"

#include <cmath>
#include <cstdint>
#include <functional>

namespace normalization_cases {

using matmul_cases::buffer;
namespace kernels = stagecraft::kernels;

/// Numbers that are spread evenly about a mean.
inline void fill(buffer& x, double mean, double deviation, unsigned seed) {
  std::uint64_t state = seed * 7919U + 17U;
  for (int i = 0; i < x.size(); ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    double const uniform = static_cast<double>(state >> 40U) / static_cast<double>(1 << 24);
    x.data()[i] = static_cast<float>(mean + deviation * std::sqrt(12.0) * (uniform - 0.5));
  }
}

/// Keeps the largest deviation of `found` from `expected`; one that is not a number is infinitely large.
inline void note(double& worst, float found, double expected) {
  double const deviation = std::abs(static_cast<double>(found) - expected);
  worst = larger_deviation(worst, deviation);
}

/// Runs `work(share, workspace)` for each share of `count`, as threads would, each with a workspace of its own.
inline void for_each_share(int count, int workspace_floats,
                           std::function<void(kernels::share, float* workspace)> const& work) {
  for (int index = 0; index < count; ++index) {
    buffer workspace(workspace_floats);
    work(kernels::share{index, count}, workspace.data());
    CHECK(workspace.guard_is_intact());
  }
}

}  // namespace normalization_cases
