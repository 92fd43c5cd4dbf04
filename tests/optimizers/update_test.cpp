// SPDX-License-Identifier: BSD-3-Clause
// Optimizers: the vocabulary, and their kernels against the scalar formulas and Keras; weight penalties.
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include <stagecraft/kernels/update/update.hpp>
#include <stagecraft/optimizers/optimizers.hpp>
#include <stagecraft/optimizers/rests_without_gradient.hpp>
#include <stagecraft/regularizers/regularizers.hpp>
#include <doctest/doctest.h>

#include "../golden/golden.hpp"
#include "../kernels/reference_formulas.hpp"
#include "norms_of_step.hpp"
#include "optimizer_table.hpp"
#include "reference_update.hpp"

namespace sc = stagecraft;
namespace kernels = stagecraft::kernels;
namespace optimizers = stagecraft::optimizers;

static_assert(sc::detail::slots_of<optimizers::sgd{}> == 0 &&
              sc::detail::slots_of<optimizers::sgd{.momentum = 0.9F}> == 1);
static_assert(sc::detail::slots_of<optimizers::rmsprop{}> == 1);
static_assert(sc::detail::slots_of<optimizers::rmsprop{.momentum = 0.9F, .centered = true}> == 3);
static_assert(sc::detail::slots_of<optimizers::adam{}> == 2 &&
              sc::detail::slots_of<optimizers::adam{.amsgrad = true}> == 3);
static_assert(sc::detail::rests_without_gradient<optimizers::sgd{}> &&
              sc::detail::rests_without_gradient<optimizers::sgd{.decay = 0.1F}>);
static_assert(!sc::detail::rests_without_gradient<optimizers::sgd{.momentum = 0.9F}> &&
              !sc::detail::rests_without_gradient<optimizers::rmsprop{}> &&
              !sc::detail::rests_without_gradient<optimizers::adam{}>);
// Numbers that make no optimizer: NaN, negative and infinite ones, and shares above 1. A rate of 0 is Keras's way to
// freeze everything.
template <auto Optimizer>
constexpr int code_of = sc::detail::optimizer_problem<Optimizer>.code;
constexpr float no_number = std::numeric_limits<float>::quiet_NaN(), infinite = std::numeric_limits<float>::infinity();
static_assert(code_of<optimizers::sgd{.learning_rate = 0.0F, .momentum = 1}> == 0);
static_assert(code_of<optimizers::sgd{.learning_rate = no_number}> == 4089 &&
              code_of<optimizers::sgd{.learning_rate = -0.1F}> == 4089 &&
              code_of<optimizers::sgd{.learning_rate = infinite}> == 4089);
static_assert(code_of<optimizers::adam{.beta_1 = 1.5F}> == 4089 &&
              code_of<optimizers::adam{.epsilon = no_number}> == 4089 &&
              code_of<optimizers::rmsprop{.rho = -0.5F}> == 4089 && code_of<optimizers::sgd{.decay = -1}> == 4089 &&
              code_of<optimizers::sgd{.clipvalue = no_number}> == 4089);
static_assert(
    code_of<optimizers::sgd{.learning_rate = optimizers::schedules::exponential_decay{0.1F, 10, no_number}}> == 4089 &&
    code_of<optimizers::sgd{.learning_rate = optimizers::schedules::exponential_decay{-0.1F, 10, 0.5F}}> == 4089);
static_assert(code_of<optimizers::loss_scale_optimizer<optimizers::sgd>{.optimizer = {.momentum = 2}}> == 4089);

namespace {

template <int Slots>
struct moments : sc::optimizer<moments<Slots>> {
  float learning_rate = 0.1F;
  constexpr void update(auto& ops, auto weight, auto gradient) const {
    for (int i = 0; i < Slots; ++i) {
      auto const slot = ops.slot("m");
      ops.update(slot, slot * 0.5F + gradient);
      gradient = slot + gradient;
    }
    ops.update(weight, weight - ops.learning_rate() * gradient);
  }
};

}  // namespace

static_assert(sc::detail::slots_of<moments<6>{}> == 6 && !sc::detail::optimizer_problem<moments<6>{}>.failed());
static_assert(sc::detail::optimizer_problem<moments<7>{}>.code == 4089);
// Norms, and what they depend on.
static_assert([] {
  constexpr auto const& clipped = sc::detail::norms_of<optimizers::lamb{.clipnorm = 1}>;
  constexpr auto const& of_all =
      sc::detail::norms_of<optimizers::moving_average{optimizers::adam{.global_clipnorm = 1}}>;
  return sc::detail::norms_of<optimizers::sgd{}>.count == 0 && sc::detail::norms_of<optimizers::lars{}>.rounds == 1 &&
         sc::detail::norms_of<optimizers::lars{.layer_adaptation = false}>.count == 0 && clipped.count == 3 &&
         clipped.rounds == 2 && !clipped.has_global() && of_all.count == 1 && of_all.has_global();
}());
static_assert(sc::detail::optimizer_problem<optimizers::sgd{.clipnorm = 1, .global_clipnorm = 1}>.code == 4089);
static_assert(!sc::detail::rests_without_gradient<optimizers::lars{}>);
namespace {

template <int Norms>
struct normed : sc::optimizer<normed<Norms>> {
  float learning_rate = 0.1F;
  constexpr void update(auto& ops, auto weight, auto gradient) const {
    for (int i = 0; i < Norms; ++i) gradient = gradient / ops.norm(gradient);
    if (Norms == 0) gradient = gradient / ops.global_norm(gradient * ops.norm(weight));
    ops.update(weight, weight - ops.learning_rate() * gradient);
  }
};

}  // namespace
static_assert(sc::detail::norms_of<normed<5>{}>.rounds == 5 && !sc::detail::optimizer_problem<normed<5>{}>.failed());
static_assert(sc::detail::optimizer_problem<normed<6>{}>.code == 4089);
static_assert(sc::detail::optimizer_problem<normed<0>{}>.code == 4089);
static_assert(optimizers::adam{}.learning_rate == 0.001F && optimizers::sgd{}.learning_rate == 0.01F);
static_assert(sc::regularizer{}.empty());
static_assert(sc::regularizer(sc::regularizers::l1_l2{}) == sc::regularizer{0.01F, 0.01F, nullptr, {}});
static_assert(sc::regularizer(sc::regularizers::l2{.l2 = 0.5F}) == sc::regularizer{0, 0.5F, nullptr, {}});

namespace {

bool near(double got, double expected, double relative, double absolute) {
  return std::fabs(got - expected) <= relative * std::fabs(expected) + absolute;
}

template <auto Optimizer>
void check_against_formula() {
  CAPTURE(std::string(Optimizer.name));
  static constexpr auto optimizer = Optimizer;  // Clang 19 reads members of template arguments in wrong places
  constexpr int slots = sc::detail::slots_of<Optimizer>;
  for (int const n : {1, 7, 15, 16, 17, 31, 64, 1000}) {
    CAPTURE(n);
    auto const size = static_cast<std::size_t>(n);
    auto const stride = size + 3;
    std::vector<float> w(size + 1, -77.0F);
    std::vector<float> g(size);
    std::vector<float> state(stride * slots, 0.0F);
    std::vector<double> expected(size);
    std::vector<double> expected_state(size * 4, 0.0);
    for (std::size_t i = 0; i < size; ++i) expected[i] = w[i] = static_cast<float>(std::sin(static_cast<double>(i)));
    auto split_w = w;
    auto split_state = state;
    for (int step = 1; step <= 5; ++step) {
      for (std::size_t i = 0; i < size; ++i) {
        g[i] = static_cast<float>(std::cos(0.7 * static_cast<double>(i) + step) * (i % 3 == 0 ? 30 : 0.2));
        reference::update(optimizer, optimizer.learning_rate, step, expected[i], g[i], &expected_state[4 * i]);
      }
      kernels::update<Optimizer>(optimizer.learning_rate, step, w.data(), g.data(), state.data(),
                                 static_cast<std::int64_t>(stride), n);
      int const half = n / 2;
      kernels::update<Optimizer>(optimizer.learning_rate, step, split_w.data(), g.data(), split_state.data(),
                                 static_cast<std::int64_t>(stride), half);
      kernels::update<Optimizer>(optimizer.learning_rate, step, split_w.data() + half, g.data() + half,
                                 split_state.data() + (slots > 0 ? half : 0), static_cast<std::int64_t>(stride),
                                 n - half);
    }
    CHECK(w.back() == -77.0F);
    CHECK(split_w == w);
    CHECK(split_state == state);
    int wrong = 0;
    for (std::size_t i = 0; i < size; ++i) {
      wrong += !near(w[i], expected[i], 4e-6, 1e-6);
      for (std::size_t slot = 0; slot < slots; ++slot)
        wrong += !near(state[slot * stride + i], expected_state[4 * i + slot], 4e-6, 1e-6);
    }
    CHECK(wrong == 0);
    for (std::size_t slot = 0; slot < slots; ++slot)
      for (std::size_t i = size; i < stride; ++i) CHECK(state[slot * stride + i] == 0);
  }
}

/// Ten steps of a case of optimizers.txt.
template <auto Optimizer>
void check_steps_against_keras(golden::file const& file, std::string const& name) {
  CAPTURE(name);
  static constexpr auto optimizer = Optimizer;
  auto w = file["weights"].values;
  auto const& gradients = file["gradients"];
  auto const& expected = file[name + "/weights"];
  CHECK(optimizer.learning_rate == file[name + "/learning_rate"].scalar());
  std::size_t const n = w.size();
  std::vector<float> state(n * 3, 0.0F);
  for (std::size_t step = 0; step < gradients.shape[0]; ++step) {
    float const* const g = gradients.values.data() + step * n;
    auto const number = static_cast<std::int64_t>(step) + 1;
    auto const norms = laws::norms_of_step<Optimizer>(optimizer.learning_rate, number, w.data(), g, state.data(), n);
    kernels::update<Optimizer>(optimizer.learning_rate, number, w.data(), g, state.data(), static_cast<std::int64_t>(n),
                               static_cast<std::int64_t>(n), norms.data());
    for (std::size_t i = 0; i < n; ++i) {
      CAPTURE(step);
      CAPTURE(i);
      CAPTURE(w[i]);
      CAPTURE(expected[step * n + i]);
      CHECK(near(w[i], expected[step * n + i], 2e-6, 2e-6));
    }
  }
}

/// A case of optimizers.txt, and whether the options written here are those Keras had.
template <auto Optimizer>
void check_against_keras(golden::file const& file, std::string const& name) {
  CAPTURE(name);
  auto const option = [&](char const* key, float value) {
    CAPTURE(key);
    CHECK(value == file[name + "/" + key].scalar());
  };
  if (Optimizer.decay != 0) option("decay", Optimizer.decay);
  if constexpr (requires { Optimizer.nesterov; }) {
    option("momentum", Optimizer.momentum);
    option("nesterov", Optimizer.nesterov);
  }
  if constexpr (requires { Optimizer.centered; }) {
    option("rho", Optimizer.rho);
    option("momentum", Optimizer.momentum);
    option("epsilon", Optimizer.epsilon);
    option("centered", Optimizer.centered);
  }
  if constexpr (requires { Optimizer.amsgrad; }) {
    option("beta_1", Optimizer.beta_1);
    option("beta_2", Optimizer.beta_2);
    option("epsilon", Optimizer.epsilon);
    option("amsgrad", Optimizer.amsgrad);
  }
  check_steps_against_keras<Optimizer>(file, name);
}

}  // namespace

TEST_CASE("optimizers agree with the scalar formulas, however the weights are split") {
  check_against_formula<optimizers::sgd{}>();
  check_against_formula<optimizers::sgd{.momentum = 0.9F}>();
  check_against_formula<optimizers::sgd{.momentum = 0.9F, .nesterov = true}>();
  check_against_formula<optimizers::rmsprop{}>();
  check_against_formula<optimizers::rmsprop{.momentum = 0.5F}>();
  check_against_formula<optimizers::rmsprop{.epsilon = 1e-2F, .centered = true}>();
  check_against_formula<optimizers::rmsprop{.momentum = 0.5F, .epsilon = 1e-2F, .centered = true}>();
  check_against_formula<optimizers::adam{}>();
  check_against_formula<optimizers::adam{.amsgrad = true}>();
}

TEST_CASE("optimizers agree with Keras") {
  auto const file = golden::read("optimizers.txt");
  check_against_keras<optimizers::sgd{.learning_rate = 0.1F}>(file, "sgd");
  check_against_keras<optimizers::sgd{.learning_rate = 0.1F, .momentum = 0.9F}>(file, "sgd_momentum");
  check_against_keras<optimizers::sgd{.learning_rate = 0.1F, .momentum = 0.9F, .nesterov = true}>(file, "sgd_nesterov");
  check_against_keras<optimizers::sgd{.learning_rate = 0.1F, .momentum = 0.9F, .decay = 0.25F}>(file, "sgd_decay");
  check_against_keras<optimizers::rmsprop{}>(file, "rmsprop");
  check_against_keras<optimizers::rmsprop{.learning_rate = 0.05F, .rho = 0.8F, .epsilon = 0.01F}>(file,
                                                                                                  "rmsprop_options");
  check_against_keras<optimizers::rmsprop{.learning_rate = 0.01F, .momentum = 0.9F, .epsilon = 0.01F}>(
      file, "rmsprop_momentum");
  check_against_keras<optimizers::rmsprop{.learning_rate = 0.01F, .epsilon = 0.01F, .centered = true}>(
      file, "rmsprop_centered");
  check_against_keras<optimizers::rmsprop{
      .learning_rate = 0.01F, .momentum = 0.5F, .epsilon = 0.01F, .centered = true}>(file, "rmsprop_centered_momentum");
  check_against_keras<optimizers::rmsprop{.learning_rate = 0.05F, .epsilon = 0.01F, .decay = 0.25F}>(file,
                                                                                                     "rmsprop_decay");
  check_against_keras<optimizers::adam{}>(file, "adam");
  check_against_keras<optimizers::adam{.learning_rate = 0.05F, .beta_1 = 0.8F, .beta_2 = 0.95F, .epsilon = 0.01F}>(
      file, "adam_options");
  check_against_keras<optimizers::adam{.learning_rate = 0.05F, .beta_2 = 0.9F, .amsgrad = true}>(file, "adam_amsgrad");
  check_against_keras<optimizers::adam{.learning_rate = 0.05F, .epsilon = 0.01F, .decay = 0.25F}>(file, "adam_decay");
}

TEST_CASE("all other optimizers agree with Keras") {
  auto const file = golden::read("optimizers.txt");
  laws::with_optimizers([&]<auto Optimizer>(char const* name) { check_steps_against_keras<Optimizer>(file, name); });
}

TEST_CASE("schedules give Keras's learning rates") {
  auto const file = golden::read("optimizers.txt");
  laws::with_schedules([&]<sc::learning_rate Rate>(std::string const& name) {
    CAPTURE(name);
    constexpr auto const& formula = sc::detail::view_of_optimizer<optimizers::sgd{.learning_rate = Rate}>;
    auto const& expected = file["schedule/" + name];
    for (std::size_t i = 0; i < expected.size(); ++i) {
      CAPTURE(i);
      std::vector<float> constants(formula.steps.size());
      double const given[]{Rate.initial, static_cast<double>(i + 1)};
      kernels::formula_constants(formula, given, constants);
      float w = 0, g = -1;
      float const* const places[]{&w, &g};
      float* const results[]{&w};
      kernels::formula_places<>(formula, constants, places, results, 1);
      CHECK(near(w, expected[i], 2e-6, 1e-7));
    }
  });
}

static_assert(sc::detail::optimizer_problem<
                  optimizers::sgd{.learning_rate = optimizers::schedules::cosine_decay{.initial_learning_rate = 1}}>
                      .code == 4089 &&
              sc::detail::optimizer_problem<
                  optimizers::sgd{.learning_rate = optimizers::schedules::cosine_decay{.decay_steps = 10}}>
                      .code == 4089);
// A schedule of one's own.
static_assert(!sc::detail::optimizer_problem<optimizers::sgd{
                  .learning_rate = {0.1F,
                                    [](auto& ops, auto initial, float const* numbers) {
                                      return initial * rsqrt(ops.step() / numbers[0]);
                                    },
                                    50}}>
                   .failed());
// Optimizers in others.
static_assert([] {
  constexpr optimizers::adamw excluding{.weight_decay = 0.5F, .exclude_from_weight_decay = {"bias"}};
  constexpr optimizers::loss_scale_optimizer scaled{optimizers::moving_average{excluding}, false, 1024};
  return scaled.learning_rate == 0.001F && sc::detail::loss_scale_of(scaled) == 1024 &&
         sc::detail::loss_scale_of(excluding) == 1 &&
         sc::detail::optimizer_of(scaled, "dense/bias", "dense").optimizer.optimizer == optimizers::adamw{} &&
         sc::detail::excludes_weights<std::remove_const_t<decltype(scaled)>>() &&
         !sc::detail::excludes_weights<optimizers::moving_average<optimizers::adam>>();
}());
static_assert(sc::detail::slots_of<optimizers::moving_average{optimizers::adam{}}> == 3);
// A factor that follows the share of gradients that overflow: 10 of them, a quarter may.
static_assert([] {
  sc::detail::loss_scale_rule const rule{
      .initial_scale = 4, .growth_steps = 2, .limit = 16, .ratio_threshold = 0.25F, .accumulates = true};
  sc::dynamic_loss_scale scale{.scale = 4};
  bool right = true;
  auto const after = [&](double overflowed, float expected) {
    scale.look_at(overflowed, rule);
    scale.advance(rule, 10);
    right = right && scale.is_finite && scale.scale == expected;
  };
  after(1, 4), after(4, 8);    // 5 of 20
  after(6, 8), after(0, 4);    // 6 of 20
  after(10, 4), after(10, 2);  // and down to 1
  after(10, 2), after(10, 1), after(10, 1), after(10, 1);
  for (float const grown : {2.0F, 4.0F, 8.0F, 8.0F}) after(0, scale.scale), after(0, grown);  // and below 16
  return right;
}());
static_assert([] {  // the last update alone
  sc::detail::loss_scale_rule const rule{.growth_steps = 2, .growth = 4, .limit = 99, .ratio_threshold = 0.25F};
  sc::dynamic_loss_scale scale;
  scale.look_at(10, rule), scale.advance(rule, 10);
  scale.look_at(2, rule), scale.advance(rule, 10);
  return scale.scale == 4;
}());
static_assert(!sc::detail::optimizer_problem<optimizers::als_optimizer{optimizers::adam{}}>.failed());
static_assert(
    sc::detail::optimizer_problem<optimizers::als_optimizer<optimizers::sgd>{.update_frequency = 0}>.code == 4089 &&
    sc::detail::optimizer_problem<optimizers::als_optimizer<optimizers::sgd>{.increase_factor = 3}>.code == 4089 &&
    sc::detail::optimizer_problem<optimizers::als_optimizer<optimizers::sgd>{.max_loss_scaling_factor = 2}>.code ==
        4089 &&
    sc::detail::optimizer_problem<optimizers::als_optimizer<optimizers::sgd>{.ratio_threshold = 1}>.code == 4089 &&
    sc::detail::optimizer_problem<optimizers::als_optimizer<optimizers::sgd>{.histogram_bin_edge = 65505}>.code ==
        4089);
// What is excluded by name.
static_assert([] {
  constexpr optimizers::adamw all{.weight_decay = 0.5F, .exclude_from_weight_decay = {"bias", "norm"}};
  return sc::detail::optimizer_of(all, "dense/kernel", "dense") == optimizers::adamw{.weight_decay = 0.5F} &&
         sc::detail::optimizer_of(all, "layer_normalization/gamma", "layer_normalization") == optimizers::adamw{};
}());
static_assert([] {
  constexpr optimizers::lamb both{.weight_decay = 0.5F, .exclude_from_weight_decay = {"bias"}};
  constexpr optimizers::lars other{
      .weight_decay_rate = 0.5F, .exclude_from_weight_decay = {"bias"}, .exclude_from_layer_adaptation = {"gamma"}};
  return sc::detail::optimizer_of(both, "dense/kernel", "dense") == optimizers::lamb{.weight_decay = 0.5F} &&
         sc::detail::optimizer_of(both, "dense/bias", "dense") == optimizers::lamb{.layer_adaptation = false} &&
         sc::detail::optimizer_of(other, "dense/bias", "dense") == optimizers::lars{} &&
         sc::detail::optimizer_of(other, "norm/gamma", "norm") ==
             optimizers::lars{.weight_decay_rate = 0.5F, .layer_adaptation = false};
}());

TEST_CASE("weight penalties: value and gradient") {
  for (int const n : {1, 7, 15, 16, 17, 31, 64, 1000}) {
    CAPTURE(n);
    auto const size = static_cast<std::size_t>(n);
    std::vector<float> w(size);
    std::vector<float> g(size + 1, 2.0F);
    for (std::size_t i = 0; i < size; ++i)
      w[i] = i % 5 == 0 ? 0.0F : static_cast<float>(std::sin(static_cast<double>(i)));
    sc::regularizer const penalty = sc::regularizers::l1_l2{.l1 = 0.3F, .l2 = 0.2F};
    double loss = 0;
    for (float const value : w) loss += kernels::reference::regularization_loss(penalty, value);
    CHECK(near(kernels::regularization_loss(penalty, w.data(), n), loss, 2e-6, 1e-7));
    kernels::add_regularization_gradient(penalty, w.data(), g.data(), n);
    CHECK(g.back() == 2.0F);
    int wrong = 0;
    for (std::size_t i = 0; i < size; ++i)
      wrong += !near(g[i], 2 + kernels::reference::regularization_slope(penalty, w[i]), 1e-6, 1e-7);
    CHECK(wrong == 0);
  }
}
