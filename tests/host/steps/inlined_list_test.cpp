// SPDX-License-Identifier: BSD-3-Clause
// Single samples that are carried out as inlined code have the bits of larger batches, whose lists are interpreted.
#include <stagecraft/description/inference.hpp>
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/predictor.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

namespace {

template <int Batch>
inline constexpr auto inference = sc::inference{.batch_size = Batch};

/// Whether lists are inlined at all: a program of tests may be built without.
inline constexpr bool some_are_inlined = sc::cpu::which_are_inlined != sc::cpu::inlined_lists::none;

/// Whether the call that follows the input is inlined.
template <class Predictor, int Call = 1>
inline constexpr bool is_inlined = [] {
  using plan = typename Predictor::session_type::template plan<sc::execution_mode::inference, 0>;
  return sc::detail::is_inlined<sc::cpu::host_call<plan, Call>>;
}();

std::vector<float> numbers(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> result(count);
  for (auto& each : result) each = static_cast<float>(random()) / 2147483648.0F - 1.0F;
  return result;
}

/// Biases and states that begin as zeros would hide what is added where.
template <class Predictor>
void randomize(Predictor& model) {
  auto weights = model.get_weights();
  for (std::size_t i = 0; i < weights.size(); ++i) {
    auto const values = numbers(weights[i].values.size(), static_cast<unsigned>(i) + 7);
    std::transform(values.begin(), values.end(), weights[i].values.begin(), [](float x) { return 0.4F * x; });
  }
  model.set_weights(weights);
}

/// Numbers that differ between a single sample and the first of two, over some samples.
template <class Model, class Machine = sc::host<>, int Call = 1>
int differences() {
  sc::predictor<Model, inference<1>, Machine> single;
  sc::predictor<Model, inference<2>, Machine> pair;
  static_assert(is_inlined<decltype(single), Call> == some_are_inlined && !is_inlined<decltype(pair), Call>);
  randomize(single);
  pair.set_weights(single.get_weights());
  int found = 0;
  for (unsigned i = 0; i < 5; ++i) {
    auto const x = numbers(pair.call_inputs, 100 + i);
    std::array<float, single.call_inputs> one{};
    std::copy_n(x.begin(), one.size(), one.begin());
    std::array<float, pair.call_inputs> two{};
    std::copy_n(x.begin(), two.size(), two.begin());
    auto const y = single.call(one);
    auto const expected = pair.call(two);
    found += std::memcmp(y.data(), expected.data(), sizeof y) != 0 ? 1 : 0;
  }
  return found;
}

template <int Steps, int Inputs, auto Layer>
using network = sc::sequential<input{Steps, Inputs}, Layer>;

/// A layer of one's own, with two gates and a constant; and, of more columns, what belongs to none.
template <int Columns>
struct smoother : sc::layer<smoother<Columns>> {
  static constexpr std::string_view class_name = "Smoother";

  constexpr auto call(auto& ops, auto x) const {
    auto const kernel = ops.weight({.name = "kernel", .shape = {x.length(-1), Columns}});
    auto const y = ops.matmul(x, kernel) + ops.weight({.name = "bias", .shape = {Columns}});
    auto const gate = sigmoid(ops.slice(y, -1, 0, 8));
    auto const value = ops.slice(y, -1, 8, 8) * 0.5F;
    return gate * value + (1.0F - gate) * tanh(value);
  }
};

/// A loop whose state begins with what is computed from the steps.
struct begun : sc::layer<begun> {
  static constexpr std::string_view class_name = "Begun";

  constexpr auto call(auto& ops, auto x) const {
    auto const first = tanh(ops.reshape(ops.slice(x, 1, 0, 1), {x.length(0), x.length(2)}));
    auto const step = [](auto row, auto const& state) { return std::array{row + state[0]}; };
    return ops.scan(x, 1, std::array{first}, step).last[0];
  }
};

/// Returns what it was given two calls ago; a state becomes what another one has been.
struct delayed : sc::layer<delayed> {
  static constexpr std::string_view class_name = "Delayed";

  constexpr auto call(auto& ops, auto x) const {
    auto const two_ago = ops.state("two_ago", x.shape());
    auto const one_ago = ops.state("one_ago", x.shape());
    ops.update(one_ago, x);
    ops.update(two_ago, one_ago);
    return two_ago + x * 0.0F;
  }
};

template <int Batch>
void check_delay() {
  sc::predictor<sc::sequential<input{1}.of_batch_size(Batch), delayed{}>, inference<Batch>> model;
  for (int i = 0; i < 5; ++i) {
    std::array<float, Batch> x{};
    x[0] = static_cast<float>(i + 1);
    CHECK(model.call(x)[0] == static_cast<float>(std::max(i - 1, 0)));
  }
}

}  // namespace

TEST_CASE("recurrent layers of any size, also where registers are not full") {
  CHECK(differences<network<1, 1, lstm{16}>>() == 0);
  CHECK(differences<network<7, 3, lstm{1}>>() == 0);
  CHECK(differences<network<5, 2, lstm{40, {.return_sequences = true}}>>() == 0);
  CHECK(differences<network<6, 5, lstm{13, {.return_sequences = true, .go_backwards = true}}>>() == 0);
  CHECK(differences<network<6, 4, gru{8}>>() == 0);
  CHECK(differences<network<3, 9, gru{33, {.return_sequences = true, .go_backwards = false}}>>() == 0);
  CHECK(differences<network<5, 6, gru{24, {.reset_after = false}}>>() == 0);
  CHECK(differences<network<9, 2, simple_rnn{5, {.activation = sc::relu}}>>() == 0);
}

TEST_CASE("products of the inputs of all steps, before the loop") {
  CHECK(differences<network<8, 48, lstm{64}>>() == 0);
  CHECK(differences<network<5, 40, lstm{70, {.go_backwards = true}}>>() == 0);
}

TEST_CASE("a layer of one's own") { CHECK(differences<sc::sequential<input{6}, smoother<16>{}>>() == 0); }

TEST_CASE("a single trip, whose first state is computed") {
  CHECK(differences<sc::sequential<input{1, 5}, begun{}>>() == 0);
}

TEST_CASE("states that become others") {
  check_delay<1>();
  check_delay<2>();
}

TEST_CASE("one layer after the other, whose packed weights lie one after the other") {
  using stack = sc::sequential<input{4, 3}, lstm{10, {.return_sequences = true}}, gru{6, {.return_sequences = true}},
                               simple_rnn{2}>;
  CHECK(differences<stack>() == 0);
  CHECK(differences<stack, sc::host<>, 2>() == 0);
}

#if defined(__x86_64__)
TEST_CASE("in registers of four and eight numbers") {
  using sse2 = sc::host_machine<1, xsimd::sse2>;
  CHECK(differences<network<4, 3, lstm{7}>, sse2>() == 0);
  CHECK(differences<network<4, 3, gru{16}>, sse2>() == 0);
#if defined(__AVX2__) && defined(__FMA__)
  using avx2 = sc::host_machine<1, xsimd::fma3<xsimd::avx2>>;
  CHECK(differences<network<4, 3, lstm{12}>, avx2>() == 0);
  CHECK(differences<network<4, 3, gru{21}>, avx2>() == 0);
#endif
}
#endif

TEST_CASE("states stay from call to call, and weights that have changed are packed again") {
  using stateful = sc::sequential<input{1, 2}.of_batch_size(1), lstm{9, {.stateful = true}}, dense{1}>;
  using whole = sc::sequential<input{12, 2}, lstm{9}, dense{1}>;
  sc::predictor<stateful, inference<1>> stepwise;
  sc::predictor<whole, inference<2>> at_once;
  static_assert(is_inlined<decltype(stepwise)> == some_are_inlined);
  for (int round = 0; round < 2; ++round) {
    randomize(stepwise);
    if (round == 1) {
      auto weights = stepwise.get_weights();
      for (auto& each : weights) std::reverse(each.values.begin(), each.values.end());
      stepwise.set_weights(weights);
    }
    at_once.set_weights(stepwise.get_weights());
    auto const x = numbers(48, 3);
    std::array<float, 48> both{};
    std::copy_n(x.begin(), both.size(), both.begin());
    stepwise.reset_states();
    float y = 0;
    for (std::size_t step = 0; step < 12; ++step) y = stepwise.call(std::array{x[2 * step], x[2 * step + 1]})[0];
    CHECK(y == at_once.call(both)[0]);
  }
  // Through the model's own memory as well.
  auto const before = stepwise.call(std::array{0.5F, 0.25F})[0];
  stepwise.reset_states();
  auto again = stepwise.get_weights();
  for (auto& each : again.front().values) each += 1;
  stepwise.set_weights(again);
  CHECK(stepwise.call(std::array{0.5F, 0.25F})[0] != before);
}

TEST_CASE("a predictor that shares weights packs them itself, and a moved one keeps its own") {
  using model = sc::sequential<input{3, 2}, lstm{5}, dense{2}>;
  sc::predictor<model, inference<1>> first(1), other(7);
  std::array const x{0.1F, 0.2F, 0.3F, -0.4F, 0.5F, 0.6F};
  auto const before = first.call(x), expected = other.call(x);
  CHECK(before != expected);
  first.set_weights(other.get_weights());
  auto second = first.sharing_weights();
  CHECK(first.call(x) == expected);
  CHECK(second.call(x) == expected);
  auto moved = std::move(first);
  CHECK(moved.call(x) == expected);
  CHECK(second.call(x) == expected);
}

TEST_CASE("what is not known is interpreted") {
  static_assert(!is_inlined<sc::predictor<sc::sequential<input{4, 3}, layer_normalization{}>, inference<1>>>);
  static_assert(!is_inlined<sc::predictor<sc::sequential<input{6}, smoother<20>{}>, inference<1>>>);
  using masked = sc::sequential<input{4, 3}, masking{}, lstm{4}>;
  sc::predictor<masked, inference<1>> single;
  sc::predictor<masked, inference<2>> pair;
  randomize(single);
  pair.set_weights(single.get_weights());
  auto const x = numbers(24, 5);
  std::array<float, 12> one{};
  std::array<float, 24> two{};
  std::copy_n(x.begin(), 12, one.begin());
  std::copy_n(x.begin(), 24, two.begin());
  std::fill(one.begin() + 3, one.begin() + 6, 0.0F);
  std::fill(two.begin() + 3, two.begin() + 6, 0.0F);
  auto const y = single.call(one);
  auto const expected = pair.call(two);
  CHECK(std::memcmp(y.data(), expected.data(), sizeof y) == 0);
}
