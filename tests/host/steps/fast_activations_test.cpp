// SPDX-License-Identifier: BSD-3-Clause
// Predictors that ask for fast activations: near the accurate ones, in every layer that has them; NaN stays.
#include <stagecraft/description/inference.hpp>
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/predictor.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <random>

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

namespace {

inline constexpr auto exact = sc::inference{.batch_size = 1};
inline constexpr auto quick = sc::inference{.batch_size = 1, .activations = sc::fast};
inline constexpr auto quick_pairs = sc::inference{.batch_size = 2, .activations = sc::fast};

template <std::size_t Count>
std::array<float, Count> numbers(unsigned seed, float scale) {
  std::mt19937 random(seed);
  std::array<float, Count> result{};
  for (auto& each : result) each = scale * (static_cast<float>(random()) / 2147483648.0F - 1.0F);
  return result;
}

struct found {
  double largest = 0;  ///< difference from the accurate predictor's outputs
  int different = 0;   ///< outputs with other bits
};

/// Compares the outputs of some calls, which follow each other if the model keeps states.
template <class Model, auto const& Quick = quick>
found compare(float scale, int calls = 20) {
  sc::predictor<Model, exact> accurate;
  sc::predictor<Model, Quick> fast;
  auto weights = accurate.get_weights();
  for (auto& weight : weights)
    for (auto& value : weight.values) value *= 2;
  accurate.set_weights(weights);
  fast.set_weights(weights);
  found result;
  for (int i = 0; i < calls; ++i) {
    auto const x = numbers<fast.call_inputs>(static_cast<unsigned>(i), scale);
    std::array<float, accurate.call_inputs> one{};
    std::copy_n(x.begin(), one.size(), one.begin());
    auto const expected = accurate.call(one);
    auto const y = fast.call(x);
    for (std::size_t k = 0; k < expected.size(); ++k) {
      result.largest = std::max(result.largest, std::fabs(double{y[k]} - double{expected[k]}));
      result.different += y[k] != expected[k] ? 1 : 0;
    }
  }
  return result;
}

template <class Model, auto const& Quick = quick>
void check_near(double largest, float scale = 1, int calls = 20, bool is_fast = true) {
  auto const result = compare<Model, Quick>(scale, calls);
  CAPTURE(result.largest);
  CHECK(result.largest <= largest);
  CHECK((result.different > 0) == is_fast);
}

/// Whether lists are inlined at all: a program of tests may be built without.
constexpr bool some_are_inlined = sc::cpu::which_are_inlined != sc::cpu::inlined_lists::none;

}  // namespace

TEST_CASE("recurrent layers, if they are inlined") {
  check_near<sc::sequential<input{6, 3}, lstm{16}>>(2e-5, 1, 20, some_are_inlined);
  check_near<sc::sequential<input{6, 3}, gru{13}>>(2e-5, 1, 20, some_are_inlined);
  check_near<sc::sequential<input{1, 1}.of_batch_size(1), lstm{8, {.stateful = true}}, dense{1}>>(5e-5, 3, 500,
                                                                                                  some_are_inlined);
}

TEST_CASE("activations of other layers, in any batch") {
  check_near<sc::sequential<input{7}, dense{9, sc::tanh}>>(3e-6, 4);
  check_near<sc::sequential<input{7}, dense{9, sc::sigmoid}>, quick_pairs>(2e-6, 4);
  check_near<sc::sequential<input{7}, dense{40, sc::swish}>>(3e-5, 4);
  check_near<sc::sequential<input{5, 5, 2}, conv2d{6, {3, 3}, sc::tanh}>, quick_pairs>(3e-6, 3);
  check_near<sc::sequential<input{35}, activation{sc::tanh}>>(3e-6, 8);
  check_near<sc::sequential<input{35}, activation{sc::exponential}>>(2e-4, 3);
}

TEST_CASE("others stay as they are") {
  CHECK(compare<sc::sequential<input{7}, dense{9, sc::relu}, dense{4, sc::softmax}>>(3).different == 0);
}

TEST_CASE("NaN comes through, and infinities have their limits") {
  sc::predictor<sc::sequential<input{4}, activation{sc::tanh}>, quick> tanh;
  sc::predictor<sc::sequential<input{4}, activation{sc::sigmoid}>, quick> sigmoid;
  constexpr float inf = std::numeric_limits<float>::infinity();
  std::array const x{std::numeric_limits<float>::quiet_NaN(), inf, -inf, 0.0F};
  auto const of_tanh = tanh.call(x), of_sigmoid = sigmoid.call(x);
  CHECK((std::isnan(of_tanh[0]) && of_tanh[1] == 1 && of_tanh[2] == -1 && of_tanh[3] == 0));
  CHECK((std::isnan(of_sigmoid[0]) && of_sigmoid[1] == 1 && of_sigmoid[2] == 0 && of_sigmoid[3] == 0.5F));
}
