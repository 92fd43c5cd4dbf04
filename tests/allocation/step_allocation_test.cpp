// SPDX-License-Identifier: BSD-3-Clause
// Training steps and loops of one's own allocate nothing after their first batch.
#include <stagecraft/steps.hpp>
#include <cstddef>
#include <doctest/doctest.h>

#include "counted_memory.hpp"

namespace sc = stagecraft;
using namespace sc::layers;

namespace {

struct own_step : sc::training_step<own_step, input{3}> {
  sc::trained<sc::sequential<input{3}, dense{4}, layer_normalization{}, activation{sc::tanh}, dense{1}>, "critic">
      critic;
  static constexpr auto optimizer = sc::optimizers::adam{};

  constexpr void train(auto& step, auto x) const {
    step.repeat(2, [&] {
      auto const mixed = x + step.normal({step.batch(), 3});
      auto const slope = step.gradient(critic(mixed), mixed), loss = step.mean(square(slope) - critic(x));
      step.minimize(optimizer, loss, weights_of(critic));
      step.metric("loss", loss);
    });
  }
};

struct applied_step : sc::training_step<applied_step, input{3}> {
  using net = sc::sequential<input{3}, dense{1}>;
  sc::trained<net, "net"> line;
  sc::trained<net, "slow"> slow;
  static constexpr auto optimizer = sc::optimizers::adam{};

  constexpr void train(auto& step, auto x) const {
    auto const loss = step.mean(square(line(x) - 1));
    step.apply(optimizer, weights_of(line), step.gradient(loss, weights_of(line)));
    step.metric("loss", loss);
    step.every(3, [&] { step.average(weights_of(slow), weights_of(line), 0.9F); });
  }
};

/// A step whose models are layers of a graph.
struct judged_step : sc::training_step<judged_step, input{3}> {
  sc::trained<sc::sequential<input{2}, dense{3}>, "generator"> generator;
  sc::trained<sc::sequential<input{3}, dense{4}, layer_normalization{}, dense{1}>, "critic"> critic;
  static constexpr auto optimizer = sc::optimizers::adam{};

  constexpr void train(auto& step, auto x) const {
    auto const loss = step.mean(critic(generator(step.normal({step.batch(), 2}))) - critic(x));
    step.minimize(optimizer, loss, weights_of(critic));
    step.metric("loss", loss);
  }
};
static_assert(sc::trainers::has_graphs<judged_step>);

/// A step that does what `fit` does.
struct plain_step : sc::training_step<plain_step, input{3}, input{1}> {
  sc::trained<sc::sequential<input{3}, dense{4, sc::tanh}, dense{1}>, "line"> line;
  static constexpr auto optimizer = sc::optimizers::adam{};

  constexpr void train(auto& step, auto x, auto y) const {
    auto const loss = step.loss(sc::losses::mean_squared_error{}, y, line(x));
    step.minimize(optimizer, loss, weights_of(line));
    step.metric("loss", loss);
  }
};
static_assert(sc::trainers::is_step_of_fit<plain_step>);

}  // namespace

TEST_CASE("a step that does what fit does") {
  sc::step_trainer<plain_step, sc::step_options{.batch_size = 8}> model;
  xt::xtensor<float, 2> const x = xt::ones<float>({8, 3}), y = xt::ones<float>({8, 1});
  sc::sample_set const samples = sc::inputs(x, y);
  auto const first = model.train_on_batch(samples);
  long const before = allocations();
  double loss = 0;
  for (int i = 0; i < 10; ++i) loss = model.train_on_batch(samples)[0];
  CHECK(allocations() == before);
  CHECK(loss < first[0]);
}

TEST_CASE("a step that is planned as a graph of its models") {
  sc::step_trainer<judged_step, sc::step_options{.batch_size = 8}> model;
  xt::xtensor<float, 2> const x = xt::ones<float>({8, 3});
  sc::sample_set const samples(x);
  auto const first = model.train_on_batch(samples);
  long const before = allocations();
  double loss = 0;
  for (int i = 0; i < 10; ++i) loss = model.train_on_batch(samples)[0];
  CHECK(allocations() == before);
  CHECK(loss < first[0]);
}

TEST_CASE("a step that applies gradients, and moves averages in some steps") {
  sc::step_trainer<applied_step, sc::step_options{.batch_size = 8}> model;
  xt::xtensor<float, 2> const x = xt::ones<float>({8, 3});
  sc::sample_set const samples(x);
  auto const first = model.train_on_batch(samples);
  long const before = allocations();
  double loss = 0;
  for (int i = 0; i < 10; ++i) loss = model.train_on_batch(samples)[0];
  CHECK(allocations() == before);
  CHECK(loss < first[0]);
}

TEST_CASE("a step with a gradient in its loss") {
  sc::step_trainer<own_step, sc::step_options{.batch_size = 8}> model;
  xt::xtensor<float, 2> x = xt::zeros<float>({8, 3});
  x += 0.25F;
  sc::sample_set const samples(x);
  auto const first = model.train_on_batch(samples);
  long const before = allocations();
  double loss = 0;
  for (int i = 0; i < 10; ++i) loss = model.train_on_batch(samples)[0];
  CHECK(allocations() == before);
  CHECK(loss != first[0]);
}

TEST_CASE("a step on replicas, on several threads") {
  sc::step_trainer<own_step, sc::step_options{.batch_size = 4, .num_replicas = 2}, sc::host<2>> model;
  xt::xtensor<float, 2> const x = xt::ones<float>({8, 3});
  sc::sample_set const samples(x);
  auto const first = model.train_on_batch(samples);
  long const before = allocations();
  double loss = 0;
  for (int i = 0; i < 10; ++i) loss = model.train_on_batch(samples)[0];
  CHECK(allocations() == before);
  CHECK(loss != first[0]);
}

TEST_CASE("gradients as arrays, and updates by them") {
  using line = sc::sequential<input{3}, dense{4, sc::tanh}, dense{1}>;
  static constexpr auto training = sc::training{
      .optimizer = sc::optimizers::adam{.clipnorm = 1}, .loss = sc::losses::mean_squared_error{}, .batch_size = 8};
  sc::trainer<line, training, sc::with_gradients<>> model;
  xt::xtensor<float, 2> const x = xt::ones<float>({8, 3}), y = xt::ones<float>({8, 1});
  sc::sample_set const samples(x), targets(y);
  model.apply_gradients(model.gradients(samples, targets).gradients);
  long const before = allocations();
  double first = 0, last = 0;
  for (int i = 0; i < 10; ++i) {
    auto [loss, gradients] = model.gradients(samples, targets);
    for (auto& each : gradients)
      for (float& value : each.values) value *= 2;
    model.apply_gradients(gradients);
    (i == 0 ? first : last) = loss;
  }
  CHECK(allocations() == before);
  CHECK(last < first);
}
