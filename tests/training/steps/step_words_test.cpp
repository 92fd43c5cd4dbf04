// SPDX-License-Identifier: BSD-3-Clause
// Gradients that a step applies itself, moving averages, and sub-steps of some steps only, beside ten steps of a Keras
// model with a train_step.
#include <stagecraft/steps.hpp>
#include <array>
#include <cstddef>
#include <doctest/doctest.h>
#include <string>

#include "../../golden/ten_steps.hpp"

namespace sc = stagecraft;
using namespace sc::layers;

namespace {

using network = sc::sequential<input{4}, dense{6, sc::tanh}, batch_normalization{{.momentum = 0.9}}, dense{2}>;

struct words : sc::training_step<words, input{4}, input{2}> {
  sc::trained<network, "student"> student;
  sc::trained<network, "slow"> slow;
  sc::trained<network, "probe"> probe;
  sc::trained<network, "kept"> kept;  // no code calls it
  static constexpr auto optimizer = sc::optimizers::adam{.learning_rate = 0.01F};
  static constexpr auto other_optimizer = sc::optimizers::sgd{.learning_rate = 0.05F, .momentum = 0.9F};

  constexpr auto loss_of(auto& step, auto x, auto y) const {
    auto const out = student(x);
    return step.mean(square(out - y)) + 0.5F * step.mean(square(step.stop_gradient(slow(x)) - out));
  }
  constexpr void train(auto& step, auto x, auto y) const {
    int const half = step.batch() / 2;
    auto const first = loss_of(step, step.slice(x, 0, 0, half), step.slice(y, 0, 0, half));
    auto const second = loss_of(step, step.slice(x, 0, half, half), step.slice(y, 0, half, half));
    auto gradients = step.gradient(first, weights_of(student));
    auto const more = step.gradient(second, weights_of(student));
    auto sum = step.full({1}, 0);
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      gradients[i] += more[i];
      sum += step.sum(square(gradients[i]));
    }
    auto const norm = sqrt(sum), scale = clip(0.5F / norm, 0.0F, 1.0F);
    for (auto& each : gradients) each = each * scale;
    step.apply(optimizer, weights_of(student), gradients);
    step.metric("loss", first + second);
    step.metric("norm", norm);
    step.average(weights_of(slow), weights_of(student), 0.9F);
    step.every(3, [&] {
      auto const loss = step.mean(square(probe(x) - y));
      step.minimize(other_optimizer, loss, weights_of(probe));
      step.metric("probe", loss);
    });
    step.every(4, [&] { step.average(weights_of(kept), weights_of(student), 0); });
  }
};

}  // namespace

TEST_CASE("gradients applied by hand, averages and some steps only: Keras's losses and weights") {
  auto const file = golden::read("step_words.txt");
  sc::step_trainer<words, sc::step_options{.batch_size = 8}> model;
  golden::check_ten_steps(file, "words", model, [&](std::string const& step) {
    auto const of = [&](char const* name) { return golden::array_of<xt::xtensor<float, 2>>(file[name + step]); };
    return model.train_on_batch(sc::inputs(of("words/x"), of("words/y")));
  });
}

TEST_CASE("replicas and accumulated gradients do not count an average twice") {
  static constexpr auto options = sc::step_options{
      .batch_size = 8, .gradient_accumulation = {.gradient_accumulation_steps_per_replica = 2}, .num_replicas = 2};
  sc::step_trainer<words, options, sc::host<2>> model;
  xt::xtensor<float, 2> x = xt::zeros<float>({32, 4}), y = xt::zeros<float>({32, 2});
  float number = 0.1F;
  for (auto* const each : {&x, &y})
    for (float& value : *each) value = number = number * 3.7F * (1 - number);
  auto const slow = model.get_weights<"slow">();
  auto const reported = model.train_on_batch(sc::inputs(x, y));
  auto const student = model.get_weights<"student">(), moved = model.get_weights<"slow">(),
             kept = model.get_weights<"kept">();
  for (std::size_t i : {0, 1, 2, 3, 6, 7})  // weights that are trained
    for (std::size_t k = 0; k < slow[i].values.size(); ++k) {
      CHECK(moved[i].values[k] ==
            doctest::Approx(0.9F * slow[i].values[k] + 0.1F * student[i].values[k]).epsilon(1e-5));
      CHECK(kept[i].values[k] == doctest::Approx(student[i].values[k]).epsilon(1e-6));
    }
  CHECK(kept[4].values == student[4].values);  // moving means
  // The second step does not carry out the probe, whose loss stays; fit counts on.
  auto const probe = model.get_weights<"probe">();
  CHECK(model.train_on_batch(sc::inputs(x, y))[2] == reported[2]);
  CHECK(model.get_weights<"probe">() == probe);
  CHECK(model.fit(sc::inputs(x, y), {.epochs = 2, .verbose = 0}).at("probe")[0] == reported[2]);
  CHECK_FALSE(model.get_weights<"probe">() == probe);  // the fourth step
}
