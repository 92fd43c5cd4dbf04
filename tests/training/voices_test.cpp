// SPDX-License-Identifier: BSD-3-Clause
// Voices of a predictor compute what predictors of their own compute, and blocks what single calls do.
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/voices.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <vector>

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

namespace {

inline constexpr auto single = sc::inference{.batch_size = 1};
constexpr auto causal = sc::padding::causal;

#if !defined(STAGECRAFT_INLINED_LISTS) || STAGECRAFT_INLINED_LISTS
#define STAGECRAFT_TEST_VOICES
#endif

using amplifier = sc::sequential<input{1, 1}.of_batch_size(1), lstm{5, {.stateful = true}}, dense{1}>;
using stacked =
    sc::sequential<input{1, 2}.of_batch_size(1),
                   conv1d{3, 3, sc::tanh, {.padding = causal, .dilation_rate = 4, .stateful = true, .name = "wide"}},
                   separable_conv1d{4, 2, {.padding = causal, .stateful = true, .name = "separable"}},
                   max_pooling1d{3, {.strides = 1, .stateful = true, .name = "largest"}},
                   gru{6, {.return_sequences = true, .stateful = true, .name = "upper"}}, dense{2}>;
using block_of_four =
    sc::sequential<input{4, 2}.of_batch_size(1), gru{6, {.return_sequences = true, .stateful = true}}, dense{2}>;

template <std::size_t Count>
std::array<float, Count> numbers(unsigned seed) {
  std::array<float, Count> result{};
  unsigned state = seed * 977 + 7;
  for (float& each : result)
    each = static_cast<float>((state = state * 1664525U + 1013904223U) >> 8U) / 8388608.0F - 1.0F;
  return result;
}

template <class Predictor>
void randomize(Predictor& model, unsigned seed) {
  auto weights = model.get_weights();
  for (auto& weight : weights)
    for (float& value : weight.values) value = numbers<1>(seed++)[0];
  model.set_weights(weights);
}

#ifdef STAGECRAFT_TEST_VOICES

/// Three voices, called in turns, beside three predictors.
template <class Model>
void check_voices() {
  using predictor = sc::predictor<Model, single>;
  predictor model(3);
  randomize(model, 1);
  sc::voices<predictor> voices(model, 3);
  CHECK(voices.size() == 3);
  std::vector<predictor> expected;
  for (int voice = 0; voice < 3; ++voice) {
    expected.emplace_back(1);
    expected.back().set_weights(model.get_weights());
  }
  int different = 0;
  auto const step = [&](std::size_t voice, unsigned seed) {
    auto const x = numbers<predictor::call_inputs>(seed);
    different += voices.call(voice, x) != expected[voice].call(x) ? 1 : 0;
  };
  auto const some_steps = [&](unsigned seed) {
    for (unsigned i = 0; i < 25; ++i) step(i % 3 == 2 && i < 12 ? 0 : i % 3, seed + i);
  };
  some_steps(10);
  CHECK(different == 0);

  // The predictor itself has states of its own.
  static_cast<void>(model.call(numbers<predictor::call_inputs>(5)));
  voices.reset_states(1);
  expected[1].reset_states();
  some_steps(50);
  CHECK(different == 0);

  // States go from voice to voice, and stay when weights change.
  std::array<float, voices.state_floats> states{}, again{};
  voices.get_states(0, states);
  voices.set_states(2, states);
  voices.get_states(2, again);
  CHECK(states == again);
  randomize(model, 100);
  for (std::size_t voice : {std::size_t{0}, std::size_t{2}}) {
    auto const x = numbers<predictor::call_inputs>(99);
    static_cast<void>(voices.call(voice, x));
  }
  voices.get_states(0, states);
  voices.get_states(2, again);
  CHECK(states == again);
}

#endif

}  // namespace

#ifdef STAGECRAFT_TEST_VOICES

TEST_CASE("voices of a recurrent layer") { check_voices<amplifier>(); }
TEST_CASE("voices of convolutions, poolings and a recurrent layer") { check_voices<stacked>(); }
TEST_CASE("voices in blocks of steps") { check_voices<block_of_four>(); }

TEST_CASE("the states of a voice are those of the predictor's layers, in their order") {
  using predictor = sc::predictor<stacked, single>;
  predictor model(3);
  sc::voices<predictor> voices(model, 1);
  for (unsigned i = 0; i < 11; ++i) {
    auto const x = numbers<2>(i);
    static_cast<void>(voices.call(0, x));
    static_cast<void>(model.call(x));
  }
  std::vector<float> expected;
  auto const append = [&](std::vector<sc::weight_array> const& states) {
    for (auto const& state : states) expected.insert(expected.end(), state.values.begin(), state.values.end());
  };
  append(model.get_states<"wide">());
  append(model.get_states<"separable">());
  append(model.get_states<"largest">());
  append(model.get_states<"upper">());
  std::array<float, voices.state_floats> states{};
  voices.get_states(0, states);
  CHECK(std::vector<float>(states.begin(), states.end()) == expected);
}

#endif

TEST_CASE("a block of any number of steps") {
  sc::predictor<stacked, single> model(3), step_by_step(3);
  for (std::size_t const steps : {std::size_t{1}, std::size_t{7}, std::size_t{0}, std::size_t{64}}) {
    std::vector<float> x(2 * steps), y(2 * steps), expected;
    for (std::size_t i = 0; i < steps; ++i) {
      auto const own = numbers<2>(static_cast<unsigned>(i + steps));
      x[2 * i] = own[0];
      x[2 * i + 1] = own[1];
      auto const of_step = step_by_step.call(own);
      expected.insert(expected.end(), of_step.begin(), of_step.end());
    }
    model.call_block(x, y);
    CHECK(y == expected);
  }
  std::vector<float> x(3), y(2);
  CHECK_THROWS_WITH_AS(model.call_block(x, y),
                       doctest::Contains("call_block: expected a multiple of 2 numbers in x and 2 for each in y, found "
                                         "3 and 2"),
                       sc::data_error);
}

namespace {

struct called_twice : sc::functional<called_twice> {
  static constexpr auto build(auto& model) {
    auto x = model.input(input{1, 3}.of_batch_size(1));
    lstm layer(3, {.return_sequences = true, .stateful = true});
    return layer(layer(x));
  }
};

}  // namespace

TEST_CASE("a layer that is called twice has one state, which the second call finds as the first has left it") {
  sc::predictor<called_twice, single> twice(3);
  sc::predictor<sc::sequential<input{1, 3}.of_batch_size(1), lstm{3, {.stateful = true}}>, single> once(3);
  randomize(twice, 5);
  once.set_weights(twice.get_weights());
  for (unsigned i = 0; i < 5; ++i) {
    auto const x = numbers<3>(i);
    CHECK(twice.call(x) == once.call(once.call(x)));
  }
}
