// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include <stagecraft/operations/words.hpp>
#include <stagecraft/predict.hpp>

#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>

namespace sc = stagecraft;
using namespace sc::layers;

namespace {

/// A layer of one's own.
struct half_of : sc::layer<half_of> {
  static constexpr std::string_view class_name = "HalfOf";

  static constexpr auto call(auto&, auto x) { return x * 0.5F; }
};

struct two_ways : sc::functional<two_ways> {
  static constexpr auto build(auto& model) {
    auto const x = model.input(3);
    auto const left = dense(2, {.name = "left"})(x), right = dense(2, {.name = "right"})(half_of()(x));
    return add()(left, right);
  }
};

// The matrices of both ways, (3, 2), as floats and as bytes with scales: column 0 in halves, column 1 in quarters.
inline constexpr float left[] = {1, 0.25F, -2, 0.5F, 3, -1}, right[] = {0.5F, 4, 1, -4, 2, 8}, bias[] = {0.125F, -1};
inline constexpr std::int8_t left_bytes[] = {2, 1, -4, 2, 6, -4};
inline constexpr float left_scales[] = {0.5F, 0.25F};

// In any order, as files have them.
inline constexpr sc::constant_weight as_floats[]{
    {"right/bias:0", bias}, {"left/bias:0", bias}, {"left/kernel:0", left}, {"right/kernel:0", right}};
inline constexpr sc::constant_weight as_bytes[]{{"left/kernel:0", left_bytes, left_scales},
                                                {"two_ways/right/kernel:0", right},
                                                {"left/bias:0", bias},
                                                {"right/bias:0", bias}};
static_assert(as_bytes[0].size_in_bytes() == 14 && as_floats[2].size_in_bytes() == 24);
static_assert(as_bytes[1].is_named("right", "kernel") && !as_bytes[1].is_named("ight", "kernel"));
static_assert(!as_floats[0].is_named("left", "bias"));

constinit sc::static_predictor<two_ways, as_floats> by_floats;
constinit sc::static_predictor<two_ways, as_bytes> by_bytes;
static_assert(by_bytes.weight_bytes == 14 + 24 + 16 && by_floats.inputs == 3 && by_floats.outputs == 2);

}  // namespace

TEST_CASE("weights are found by their names, and bytes are multiplied by the scales of their columns") {
  std::array const x{1.0F, 2.0F, -1.0F};
  float expected[2]{};
  for (int column = 0; column < 2; ++column) {
    expected[column] = 2 * bias[column];
    for (int row = 0; row < 3; ++row)
      expected[column] += x[row] * (left[2 * row + column] + right[2 * row + column] / 2);
  }
  std::array<float, 2> y;
  by_floats(x, y);
  CHECK(y[0] == expected[0]);
  CHECK(y[1] == expected[1]);
  CHECK(by_bytes(x) == y);
}
