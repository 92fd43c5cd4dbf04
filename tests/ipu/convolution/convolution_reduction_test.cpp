// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/ipu/convolution/convolution_estimate.hpp>
#include <doctest/doctest.h>

namespace sc = stagecraft;
using sc::dtype;
using sc::ipu_targets::ipu2;
using sc::tiles::convolution_reduction;

namespace {

// Numbers of stages: poplibs, lib/poplin/ConvReducePlan.cpp.
static_assert(convolution_reduction::stages_of(1) == 0 && convolution_reduction::stages_of(2) == 1);
static_assert(convolution_reduction::stages_of(15) == 1 && convolution_reduction::stages_of(16) == 2);
static_assert(convolution_reduction::stages_of(124) == 2 && convolution_reduction::stages_of(125) == 3);

// Nobody else has partial sums: nothing to do, or a cast, (ceil(100 / 6 / 2) + 26) x 6 cycles.
constexpr convolution_reduction alone(ipu2, dtype::float32, dtype::float32, 600, 1);
static_assert(alone.exchange == 0 && alone.reduce == 0 && alone.outputs == 600 && alone.stages == 0);
constexpr convolution_reduction rounded(ipu2, dtype::float32, dtype::float16, 600, 1);
static_assert(rounded.exchange == 0 && rounded.reduce == (50 + 26) * 6);

// 4 tiles with 1000 partial sums: each adds up 252 (a multiple of 4), and receives 3 x 252 x 4 bytes, 4 in a cycle.
// Adding: (20 + (2 x 3 + 8) x ceil(63 / 6)) x 6 + 33.
constexpr convolution_reduction four(ipu2, dtype::float32, dtype::float32, 1000, 4);
static_assert(four.stages == 1 && four.outputs == 252 && four.exchange == 756);
static_assert(four.reduce == (20 + 14 * 11) * 6 + 33);
static_assert(four.temporary_bytes == 4 * (1000 + 756));

// 30 tiles: first in groups of 6, since 6 x 6 >= 30, then 5. 1200 -> 200 -> 40.
constexpr convolution_reduction two_stages(ipu2, dtype::float32, dtype::float32, 1200, 30);
static_assert(two_stages.stages == 2 && two_stages.outputs == 40);
static_assert(two_stages.exchange == 5 * 200 + 4 * 40);

// 125 tiles: 5 x 5 x 5.
constexpr convolution_reduction three_stages(ipu2, dtype::float16, dtype::float16, 16000, 125);
static_assert(three_stages.stages == 3 && three_stages.outputs == 128);
static_assert(three_stages.exchange == (4 * 3200 + 4 * 640 + 4 * 128) / 2);

}  // namespace

TEST_CASE("stages neither lose nor gain much exchange") {
  for (int depth = 2; depth < 1000; ++depth) {
    convolution_reduction const reduction(ipu2, dtype::float32, dtype::float32, 100'000, depth);
    CAPTURE(depth);
    // All but the own part is received once: what is received in later stages is less by as much.
    CHECK(reduction.exchange >= 100'000LL * (depth - 1) / depth);
    // Groups of different sizes are not quite even.
    CHECK(reduction.exchange <= 115'000);
    CHECK(reduction.outputs * depth >= 100'000);
  }
}
