// SPDX-License-Identifier: BSD-3-Clause
#include <doctest/doctest.h>

#include <stagecraft/predict.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace sc = stagecraft;
using namespace sc::layers;

namespace {

constexpr unsigned next_number(unsigned& state) {
  state = state * 1664525U + 1013904223U;
  return state >> 8U;
}

template <std::size_t Count>
struct drawn_bytes {
  std::int8_t at[Count]{};
  constexpr drawn_bytes() {
    unsigned state = Count;
    for (auto& each : at) each = static_cast<std::int8_t>(static_cast<int>(next_number(state) % 255) - 127);
  }
};
template <std::size_t Count>
struct drawn_scales {
  float at[Count]{};
  constexpr drawn_scales() {
    for (std::size_t i = 0; i < Count; ++i) at[i] = 0.25F / static_cast<float>(1U << i % 3);
  }
};
template <std::size_t Count>
inline constexpr drawn_bytes<Count> kernel{};
template <std::size_t Count>
inline constexpr drawn_scales<Count> scales{};
template <std::size_t Count>
inline constexpr float zeros[Count]{};

/// Weights of a layer with `Inner` numbers for each of `Columns` columns and a bias.
template <int Inner, int Columns>
inline constexpr sc::constant_weight weights[]{{kernel<std::size_t{Inner} * Columns>.at, scales<Columns>.at},
                                               zeros<Columns>};

/// The largest difference between whole numbers and floats for inputs that are whole numbers up to 127, which are not
/// rounded: none, while sums are exact in floats.
template <class M, auto const& Weights>
float largest_difference() {
  static constinit sc::static_predictor<M, Weights> floats;
  static constinit sc::int8_predictor<M, Weights> whole;
  std::array<float, decltype(whole)::inputs> x;
  unsigned state = 3;
  for (float& each : x) each = static_cast<float>(static_cast<int>(next_number(state) % 255) - 127);
  x[0] = -127;
  auto const expected = floats(x), found = whole(x);
  float most = 0;
  for (std::size_t i = 0; i < found.size(); ++i) most = std::max(most, std::fabs(found[i] - expected[i]));
  CHECK(std::any_of(found.begin(), found.end(), [](float each) { return each != 0; }));
  return most;
}

using dense_layer = sc::sequential<input{30}, dense{11}>;
using rows = sc::sequential<input{3, 9}, dense{5}>;
using same = sc::sequential<input{9, 7, 3}, conv2d{5, {3, 2}, {.strides = 2, .padding = sc::padding::same}}>;
using dilated = sc::sequential<input{9, 9, 2}, conv2d{2, 3, {.padding = sc::padding::same, .dilation_rate = 2}}>;
using series = sc::sequential<input{11, 4}, conv1d{6, 3, {.padding = sc::padding::causal}}>;
using grouped = sc::sequential<input{6, 6, 4}, conv2d{6, 3, {.groups = 2}}>;

using network = sc::sequential<input{8, 8, 2}, conv2d{6, 3, sc::relu}, flatten{}, dense{4, sc::softmax}>;
inline constexpr sc::constant_weight network_weights[]{
    {kernel<108>.at, scales<6>.at}, zeros<6>, {kernel<864>.at, scales<4>.at}, zeros<4>};
using recurrent = sc::sequential<input{5, 3}, gru{4, {.return_sequences = true}}, lstm{3}, dense{2}>;
inline constexpr float small_scales[12]{0.001F, 0.002F, 0.003F, 0.004F, 0.005F, 0.001F,
                                        0.002F, 0.003F, 0.004F, 0.005F, 0.006F, 0.007F};
inline constexpr float two_scales[2]{0.002F, 0.003F};
inline constexpr sc::constant_weight recurrent_weights[]{{kernel<36>.at, small_scales},
                                                         {kernel<48>.at, small_scales},
                                                         zeros<24>,
                                                         {kernel<48>.at, small_scales},
                                                         {kernel<36>.at, small_scales},
                                                         zeros<12>,
                                                         {kernel<6>.at, two_scales},
                                                         zeros<2>};

}  // namespace

TEST_CASE("sums of whole numbers are those of floats where nothing is rounded") {
  CHECK(largest_difference<dense_layer, weights<30, 11>>() == 0);
  CHECK(largest_difference<rows, weights<9, 5>>() == 0);
  CHECK(largest_difference<same, weights<18, 5>>() == 0);
  CHECK(largest_difference<dilated, weights<18, 2>>() == 0);
  CHECK(largest_difference<series, weights<12, 6>>() == 0);
  CHECK(largest_difference<grouped, weights<18, 6>>() == 0);
}

TEST_CASE("other inputs are rounded to 127 steps") {
  static constinit sc::static_predictor<dense_layer, weights<30, 11>> floats;
  static constinit sc::int8_predictor<dense_layer, weights<30, 11>> whole;
  std::array<float, 30> x;
  unsigned state = 5;
  for (float& each : x) each = static_cast<float>(next_number(state) % 1000) * 0.003F;
  float const step = *std::max_element(x.begin(), x.end()) / 127;
  auto const expected = floats(x), found = whole(x);
  for (std::size_t j = 0; j < found.size(); ++j) {
    float bound = 1e-3F;
    for (std::size_t k = 0; k < 30; ++k)
      bound += 0.5F * step * std::fabs(static_cast<float>(kernel<330>.at[k * 11 + j])) * scales<11>.at[j];
    CHECK(std::fabs(found[j] - expected[j]) <= bound);
  }
}

TEST_CASE("networks and loops predict nearly what they do with floats") {
  static constinit sc::static_predictor<recurrent, recurrent_weights> floats;
  static constinit sc::int8_predictor<recurrent, recurrent_weights> whole;
  std::array<float, 15> x;
  unsigned state = 9;
  for (float& each : x) each = static_cast<float>(next_number(state) % 1000) * 0.002F - 1;
  auto const expected = floats(x), found = whole(x);
  for (std::size_t i = 0; i < found.size(); ++i) CHECK(std::fabs(found[i] - expected[i]) < 0.01F);
  CHECK(found != expected);
}

TEST_CASE("zeros, tiny and not finite inputs") {
  static constinit sc::int8_predictor<network, network_weights> net;
  static_assert(decltype(net)::memory_bytes == sizeof net);
  std::array<float, 128> x{};
  for (float const each : net(x)) CHECK(each == doctest::Approx(0.25));
  x.fill(std::numeric_limits<float>::denorm_min());
  for (float const each : net(x)) CHECK(each == doctest::Approx(0.25));
  for (float const wrong : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                            -std::numeric_limits<float>::infinity()}) {
    x.fill(0.5F);
    x[17] = wrong;
    for (float const each : net(x)) CHECK(std::isnan(each));
  }
}
