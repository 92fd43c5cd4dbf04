// SPDX-License-Identifier: BSD-3-Clause
// Training steps of one's own with replicas, threads and accumulated gradients: the bits of fit where a step is what
// fit does, and the same bits for any number of threads.
#include <stagecraft/steps.hpp>
#include <cmath>
#include <cstddef>
#include <doctest/doctest.h>
#include <vector>

namespace sc = stagecraft;
using namespace sc::layers;

namespace {

using mlp = sc::sequential<input{6}, dense{8, sc::tanh}, batch_normalization{}, dense{2}>;

struct fit_step : sc::training_step<fit_step, input{6}, input{2}> {
  sc::trained<mlp, "mlp"> model;
  static constexpr auto optimizer = sc::optimizers::adam{.learning_rate = 0.01F};

  constexpr void train(auto& step, auto x, auto y) const {
    auto const loss = step.loss(sc::losses::mean_squared_error{}, y, model(x));
    step.minimize(optimizer, loss, weights_of(model));
    step.metric("loss", loss);
  }
};
/// The same as sub-steps of its own.
struct own_step : fit_step {
  constexpr void train(auto& step, auto x, auto y) const {
    auto const loss = step.loss(sc::losses::mean_squared_error{}, y, model(x));
    step.minimize(optimizer, loss, weights_of(model));
    step.metric("mse", loss);
  }
};
inline constexpr auto options =
    sc::step_options{.batch_size = 4,
                     .gradient_accumulation = {.gradient_accumulation_steps_per_replica = 2},
                     .num_replicas = 3,
                     .cross_replica_reduction = sc::cross_replica_reduction::mean,
                     .replicated_metric_reduction_method = sc::replicated_metric_reduction_method::mean};
inline constexpr auto training =
    sc::training{.optimizer = fit_step::optimizer,
                 .loss = sc::losses::mean_squared_error{},
                 .batch_size = 4,
                 .steps_per_execution = 2,
                 .gradient_accumulation = {.gradient_accumulation_steps_per_replica = 2},
                 .num_replicas = 3,
                 .cross_replica_reduction = sc::cross_replica_reduction::mean,
                 .replicated_metric_reduction_method = sc::replicated_metric_reduction_method::mean};

/// A generator and a critic that draws random numbers, moved one after the other.
struct gan_step : sc::training_step<gan_step, input{6}> {
  sc::trained<sc::sequential<input{3}, dense{6}>, "generator"> generator;
  sc::trained<sc::sequential<input{6}, dense{4, sc::tanh}, dropout{0.25F}, dense{1}>, "critic"> critic;
  static constexpr auto optimizer = sc::optimizers::adam{.learning_rate = 0.01F};

  constexpr void train(auto& step, auto real) const {
    step.repeat(2, [&] {
      auto const loss = step.mean(critic(generator(step.normal({step.batch(), 3})))) - step.mean(critic(real));
      step.minimize(optimizer, loss, weights_of(critic));
      step.metric("critic_loss", loss);
    });
    auto const loss = -step.mean(critic(generator(step.normal({step.batch(), 3}))));
    step.minimize(optimizer, loss, weights_of(generator));
    step.metric("generator_loss", loss);
  }
  constexpr void test(auto& step, auto real) const { step.metric("score", step.mean(critic(real))); }
};
inline constexpr auto listed =
    sc::step_options{.batch_size = 4,
                     .num_replicas = 3,
                     .replicated_metric_reduction_method = sc::replicated_metric_reduction_method::list};

using line = sc::sequential<input{6}, dense{4, sc::tanh}, dense{2}>;
template <class M>
struct step_of : sc::training_step<step_of<M>, input{6}, input{2}> {
  sc::trained<M, "line"> model;
  static constexpr auto optimizer = sc::optimizers::sgd{};

  constexpr void train(auto& step, auto x, auto y) const {
    step.minimize(optimizer, step.loss(sc::losses::mean_squared_error{}, y, model(x)), weights_of(model));
  }
};

xt::xtensor<float, 2> numbers(std::size_t rows, std::size_t columns, float number = 0.1F) {
  xt::xtensor<float, 2> result = xt::zeros<float>({rows, columns});
  for (float& x : result) x = number = number * 3.7F * (1 - number);
  return result;
}

}  // namespace

TEST_CASE("a step that is what fit does, with replicas and accumulated gradients: the bits of fit") {
  auto const x = numbers(50, 6), y = numbers(50, 2, 0.3F);  // 12 batches, two samples are left over
  sc::trainer<mlp, training, sc::host<1>> expected;
  sc::step_trainer<fit_step, options, sc::host<2>> model;
  auto const before = expected.get_weights();
  auto const of_fit = expected.fit(x, y, {.epochs = 2, .verbose = 0, .drop_remainder = true});
  auto const of_step = model.fit(sc::inputs(x, y), {.epochs = 2, .verbose = 0});
  CHECK(of_step.at("loss") == of_fit.at("loss"));
  CHECK(model.get_weights() == expected.get_weights());
  CHECK_FALSE(model.get_weights() == before);

  // Sub-steps compute dense layers without their kernels, in another order.
  sc::step_trainer<own_step, options, sc::host<2>> own;
  auto const of_own = own.fit(sc::inputs(x, y), {.epochs = 2, .verbose = 0});
  for (std::size_t i = 0; i < 2; ++i) CHECK(of_own.at("mse")[i] == doctest::Approx(of_fit.at("loss")[i]).epsilon(1e-5));
  auto const weights = own.get_weights<"mlp">(), wanted = expected.get_weights();
  REQUIRE(weights.size() == 8);
  for (std::size_t i = 0; i < weights.size(); ++i)
    for (std::size_t k = 0; k < weights[i].values.size(); ++k)
      CHECK(std::abs(weights[i].values[k] - wanted[i].values[k]) < 1e-5F);

  auto const batch = numbers(24, 6, 0.7F), labels = numbers(24, 2, 0.2F);
  auto const [loss] = model.train_on_batch(sc::inputs(batch, labels));
  auto const [mse] = own.train_on_batch(sc::inputs(batch, labels));
  CHECK(loss > 0);
  CHECK(mse == doctest::Approx(loss).epsilon(1e-5));
  CHECK_THROWS_WITH_AS(model.train_on_batch(sc::inputs(x, y)), doctest::Contains("E4003"), sc::data_error);
  CHECK_THROWS_WITH_AS(own.train_on_batch(sc::inputs(x, y)), doctest::Contains("3 replicas"), sc::data_error);
  CHECK_THROWS_WITH_AS(own.fit(sc::inputs(x, y), {.verbose = 0, .steps_per_epoch = 9}), doctest::Contains("E4018"),
                       sc::data_error);
}

TEST_CASE("sub-steps with random numbers have the same bits on any number of threads") {
  auto const x = numbers(36, 6);
  sc::step_trainer<gan_step, listed, sc::host<1>> one;
  sc::step_trainer<gan_step, listed, sc::host<5>> five;  // some replicas have two threads
  auto const before = one.get_weights();
  auto const history = one.fit(x, {.epochs = 2, .verbose = 0});
  for (auto const* name : {"critic_loss", "generator_loss", "critic_loss_replica_0", "critic_loss_replica_1"})
    REQUIRE(history.at(name).size() == 2);
  CHECK(history.at("critic_loss") == history.at("critic_loss_replica_2"));
  CHECK(history.at("critic_loss") != history.at("critic_loss_replica_0"));
  CHECK(five.fit(x, {.epochs = 2, .verbose = 0}).at("critic_loss_replica_1") == history.at("critic_loss_replica_1"));
  CHECK(five.get_weights() == one.get_weights());
  CHECK_FALSE(one.get_weights() == before);
  auto const batch = numbers(12, 6, 0.7F);
  auto const [critic, generator] = one.train_on_batch(batch);
  CHECK(five.train_on_batch(batch)[0] == critic);
  CHECK(critic[0] != critic[1]);
  CHECK(five.evaluate(batch) == one.evaluate(batch));  // by one replica, the first
}

TEST_CASE("replicas on the same samples move weights as one replica does") {
  auto const x = numbers(4, 6), y = numbers(4, 2, 0.3F);
  sc::step_trainer<own_step, sc::step_options{.batch_size = 4}> one;
  static constexpr auto two = sc::step_options{
      .batch_size = 4, .num_replicas = 2, .cross_replica_reduction = sc::cross_replica_reduction::mean};
  sc::step_trainer<own_step, two, sc::host<2>> both;
  xt::xtensor<float, 2> twice_x = xt::concatenate(xt::xtuple(x, x)), twice_y = xt::concatenate(xt::xtuple(y, y));
  for (int i = 0; i < 3; ++i)
    CHECK(both.train_on_batch(sc::inputs(twice_x, twice_y)) == one.train_on_batch(sc::inputs(x, y)));
  CHECK(both.get_weights() == one.get_weights());
}

TEST_CASE("a model with stages in a step that is what fit does: the bits of one without") {
  using two_stages = sc::pipelined<line, sc::stages<0, 1>>;
  static constexpr auto accumulated =
      sc::step_options{.batch_size = 4, .pipeline = {.gradient_accumulation_steps_per_replica = 4}};
  auto const x = numbers(16, 6), y = numbers(16, 2, 0.3F);
  sc::step_trainer<step_of<two_stages>, accumulated, sc::host<2>> stages;
  sc::step_trainer<step_of<line>, accumulated> one;
  auto const [loss] = stages.train_on_batch(sc::inputs(x, y));
  CHECK(loss == one.train_on_batch(sc::inputs(x, y))[0]);
  CHECK(stages.fit(x, y, {.verbose = 0}).at("loss") == one.fit(x, y, {.verbose = 0}).at("loss"));
  CHECK(stages.get_weights() == one.get_weights());
}
