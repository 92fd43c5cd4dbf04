// SPDX-License-Identifier: BSD-3-Clause
// Convolutions that keep the steps before: block by block, they compute what the causal layer computes of the whole
// sequence, whether their steps are compiled with a ring or carried out operation by operation.
#include <stagecraft/description/inference.hpp>
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/predictor.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

namespace {

constexpr auto causal = sc::padding::causal;
template <int Batch>
inline constexpr auto inference = sc::inference{.batch_size = Batch};

/// Whether lists are inlined at all: a program of tests may be built without.
inline constexpr bool some_are_inlined = sc::cpu::which_are_inlined != sc::cpu::inlined_lists::none;

template <class Predictor, int Call = 1>
inline constexpr bool is_inlined = [] {
  using plan = typename Predictor::session_type::template plan<sc::execution_mode::inference, 0>;
  return sc::detail::is_inlined<sc::cpu::host_call<plan, Call>>;
}();

std::vector<float> numbers(std::size_t count) {
  std::vector<float> result(count);
  unsigned state = 7;
  for (float& each : result)
    each = static_cast<float>((state = state * 1664525U + 1013904223U) >> 8U) / 8388608.0F - 1.0F;
  return result;
}

/// What a predictor computes of whole sequences, (batch, all, channels), in blocks of its number of steps.
template <int Batch, int Steps, int All, class Predictor>
std::vector<float> in_blocks(Predictor& model, std::vector<float> const& x) {
  constexpr std::size_t in = Predictor::call_inputs / Batch, out = Predictor::call_outputs / Batch,
                        blocks = All / Steps;
  std::vector<float> result(blocks * Batch * out);
  std::array<float, Batch * in> block{};
  for (std::size_t i = 0; i < blocks; ++i) {
    for (std::size_t b = 0; b < Batch; ++b)
      std::copy_n(x.begin() + static_cast<std::ptrdiff_t>((b * blocks + i) * in), in, block.begin() + b * in);
    auto const y = model.call(block);
    for (std::size_t b = 0; b < Batch; ++b)
      std::copy_n(y.begin() + b * out, out, result.begin() + static_cast<std::ptrdiff_t>((b * blocks + i) * out));
  }
  return result;
}

/// The largest difference between blocks and whole sequences of 24 steps, twice with `reset_states` in between.
template <auto Stateful, auto Whole, int Channels, int Steps, int Batch, bool Inlined, class Machine = sc::host<>>
float difference() {
  constexpr int all = 24;
  sc::predictor<sc::sequential<input{Steps, Channels}.of_batch_size(Batch), Stateful>, inference<Batch>, Machine> block(
      3);
  sc::predictor<sc::sequential<input{all, Channels}, Whole>, inference<Batch>, Machine> whole;
  static_assert(is_inlined<decltype(block)> == (Inlined && some_are_inlined));
  auto weights = block.get_weights();
  for (auto& each : weights) each.values = numbers(each.values.size());
  block.set_weights(weights);
  whole.set_weights(weights);
  auto const x = numbers(std::size_t{Batch} * all * Channels);
  auto const expected = in_blocks<Batch, all, all>(whole, x);
  float most = 0;
  for (int round = 0; round < 2; ++round) {
    block.reset_states();
    auto const found = in_blocks<Batch, Steps, all>(block, x);
    for (std::size_t i = 0; i < expected.size(); ++i) most = std::fmax(most, std::fabs(found[i] - expected[i]));
  }
  return most;
}

template <int Filters, int Kernel, int Dilation = 1, int Groups = 1>
constexpr conv1d layer(bool stateful) {
  return {Filters,
          Kernel,
          sc::tanh,
          {.padding = causal, .dilation_rate = Dilation, .groups = Groups, .stateful = stateful}};
}
/// One step a call, three and all, on rings; and two sequences.
template <int Channels, int Filters, int Kernel, int Dilation>
void check_conv1d() {
  constexpr auto stateful = layer<Filters, Kernel, Dilation>(true), whole = layer<Filters, Kernel, Dilation>(false);
  CHECK(difference<stateful, whole, Channels, 1, 1, true>() < 2e-6F);
  CHECK(difference<stateful, whole, Channels, 3, 1, true>() < 2e-6F);
  CHECK(difference<stateful, whole, Channels, 24, 1, true>() < 2e-6F);
  CHECK(difference<stateful, whole, Channels, 2, 2, false>() < 2e-6F);
}

}  // namespace

TEST_CASE("one channel, a long dilation") { check_conv1d<1, 4, 3, 9>(); }
TEST_CASE("several channels") { check_conv1d<5, 7, 3, 2>(); }
TEST_CASE("a long window, more filters than a register has lanes") { check_conv1d<16, 40, 4, 1>(); }

TEST_CASE("registers of other widths") {
#if defined(__x86_64__)
  CHECK(difference<layer<7, 3, 2>(true), layer<7, 3, 2>(false), 3, 1, 1, true, sc::host_machine<1, xsimd::sse2>>() <
        2e-6F);
#if defined(__AVX2__) && defined(__FMA__)
  using avx2 = sc::host_machine<1, xsimd::fma3<xsimd::avx2>>;
  CHECK(difference<layer<12, 5, 3>(true), layer<12, 5, 3>(false), 8, 1, 1, true, avx2>() < 2e-6F);
#endif
#endif
}

TEST_CASE("groups") {
  CHECK(difference<layer<6, 3, 2, 2>(true), layer<6, 3, 2, 2>(false), 4, 3, 1, true>() < 2e-6F);
  CHECK(difference<layer<60, 4, 1, 3>(true), layer<60, 4, 1, 3>(false), 27, 1, 1, true>() < 2e-6F);
  CHECK(difference<layer<19, 3, 4, 19>(true), layer<19, 3, 4, 19>(false), 19, 1, 1, true>() < 2e-6F);
  CHECK(difference<layer<8, 3, 4, 4>(true), layer<8, 3, 4, 4>(false), 4, 2, 2, false>() < 2e-6F);
}

template <int Filters, int Kernel, int Dilation, int Multiplier>
constexpr separable_conv1d separable(bool stateful) {
  return {Filters,
          Kernel,
          {.padding = causal, .dilation_rate = Dilation, .depth_multiplier = Multiplier, .stateful = stateful}};
}
TEST_CASE("separable convolutions") {
  CHECK(difference<separable<5, 3, 2, 1>(true), separable<5, 3, 2, 1>(false), 3, 1, 1, true>() < 2e-6F);
  CHECK(difference<separable<20, 4, 3, 1>(true), separable<20, 4, 3, 1>(false), 18, 4, 1, true>() < 2e-6F);
  CHECK(difference<separable<5, 3, 2, 2>(true), separable<5, 3, 2, 2>(false), 3, 2, 1, true>() < 2e-6F);
  CHECK(difference<separable<5, 3, 2, 1>(true), separable<5, 3, 2, 1>(false), 3, 2, 2, false>() < 2e-6F);
}

/// Windows over the last three steps, with zeros before the first.
template <auto Stateful, auto Whole, int Steps, int Batch, bool Inlined>
float difference_of_pooling() {
  constexpr int all = 12, channels = 5;
  sc::predictor<sc::sequential<input{Steps, channels}.of_batch_size(Batch), Stateful>, inference<Batch>> block;
  sc::predictor<sc::sequential<input{all, channels}, zero_padding1d{{2, 0}}, Whole>, inference<Batch>> whole;
  static_assert(is_inlined<decltype(block)> == (Inlined && some_are_inlined));
  auto const x = numbers(std::size_t{Batch} * all * channels);
  auto const expected = in_blocks<Batch, all, all>(whole, x), found = in_blocks<Batch, Steps, all>(block, x);
  float most = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) most = std::fmax(most, std::fabs(found[i] - expected[i]));
  return most;
}
TEST_CASE("poolings") {
  constexpr max_pooling1d most{3, {.strides = 1, .stateful = true}}, all_most{3, {.strides = 1}};
  constexpr average_pooling1d mean{3, {.strides = 1, .stateful = true}}, all_mean{3, {.strides = 1}};
  CHECK(difference_of_pooling<most, all_most, 1, 1, true>() == 0);
  CHECK(difference_of_pooling<most, all_most, 4, 2, false>() == 0);
  CHECK(difference_of_pooling<mean, all_mean, 3, 1, true>() < 1e-6F);
  CHECK(difference_of_pooling<mean, all_mean, 2, 2, false>() < 1e-6F);
}

TEST_CASE("strides, operation by operation; a window of one step keeps nothing") {
  CHECK(difference<conv1d{3, 4, {.strides = 2, .padding = causal, .stateful = true}},
                   conv1d{3, 4, {.strides = 2, .padding = causal}}, 2, 4, 1, false>() < 2e-6F);
  CHECK(difference<layer<6, 1>(true), layer<6, 1>(false), 4, 3, 2, false>() < 2e-6F);
}

TEST_CASE("states are the last steps in their order, and come back") {
  using model = sc::sequential<input{1, 2}.of_batch_size(1),
                               conv1d{3, 3, {.padding = causal, .dilation_rate = 2, .stateful = true, .name = "first"}},
                               conv1d{2, 2, {.padding = causal, .stateful = true, .name = "second"}}>;
  sc::predictor<model, inference<1>> one(5);
  auto const x = numbers(40);
  auto const run = [&](auto& predictor, std::size_t begin, std::size_t end) {
    std::vector<float> result;
    for (std::size_t i = begin; i < end; ++i) {
      auto const y = predictor.call(std::array{x[2 * i], x[2 * i + 1]});
      result.insert(result.end(), y.begin(), y.end());
    }
    return result;
  };
  auto const expected = run(one, 0, 20);
  one.reset_states();
  CHECK(run(one, 0, 20) == expected);

  one.reset_states();
  static_cast<void>(run(one, 0, 7));
  auto const first = one.template get_states<"first">(), second = one.template get_states<"second">();
  REQUIRE(first.size() == 1);
  CHECK(first[0].shape == std::vector<int>{1, 4, 2});
  CHECK(first[0].values == std::vector<float>(x.begin() + 6, x.begin() + 14));
  auto const tail = [&](std::size_t begin) {
    return std::vector<float>(expected.begin() + static_cast<std::ptrdiff_t>(2 * begin), expected.end());
  };
  CHECK(run(one, 7, 20) == tail(7));
  one.template reset_states<"first">(first);
  one.template reset_states<"second">(second);
  CHECK(run(one, 7, 20) == tail(7));

  // Another voice, with the states that this one has now; and new weights in the middle.
  one.reset_states();
  static_cast<void>(run(one, 0, 5));
  auto voice = one.sharing_weights();
  CHECK(run(voice, 5, 20) == tail(5));
  CHECK(run(one, 5, 9) == std::vector<float>(expected.begin() + 10, expected.begin() + 18));
  one.set_weights(one.get_weights());
  CHECK(run(one, 9, 20) == tail(9));
  // The call with tensors goes on where that with arrays has ended.
  one.reset_states();
  static_cast<void>(run(one, 0, 6));
  xt::xtensor<float, 3> const next{{{x[12], x[13]}}};
  auto const y = one(next);
  CHECK(y.data()[0] == expected[12]);
  CHECK(run(one, 7, 20) == tail(7));
}
