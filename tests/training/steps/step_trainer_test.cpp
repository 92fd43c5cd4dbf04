// SPDX-License-Identifier: BSD-3-Clause
// Training steps of one's own: a GAN with gradient penalty, beside ten steps of Keras's with two GradientTapes; its
// weights, callbacks and random numbers.
#include <stagecraft/steps.hpp>
#include <cstddef>
#include <doctest/doctest.h>
#include <string>
#include <vector>

#include "../../golden/ten_steps.hpp"

namespace sc = stagecraft;
using namespace sc::layers;

namespace {

using generator_model = sc::sequential<input{3}, dense{8, sc::relu}, dense{4}>;
using critic_model = sc::sequential<input{4}, dense{8, sc::tanh}, dense{1}>;
constexpr int batch = 16;

struct gan_step : sc::training_step<gan_step, input{4}, input{3}, input{1}> {
  sc::trained<generator_model, "generator"> generator;
  sc::trained<critic_model, "critic"> critic;
  static constexpr auto critic_optimizer = sc::optimizers::adam{.learning_rate = 0.003F, .beta_1 = 0.5F};
  static constexpr auto generator_optimizer = sc::optimizers::sgd{.learning_rate = 0.05F, .momentum = 0.9F};

  constexpr void train(auto& step, auto real, auto noise, auto mix) const {
    step.repeat(3, [&] {
      auto const fake = step.stop_gradient(generator(noise));
      auto const mixed = real * mix + fake * (1 - mix);
      auto const slope = step.gradient(critic(mixed), mixed);
      auto const norm = sqrt(step.sum(square(slope), -1) + 1e-12F);
      auto const loss = step.mean(critic(fake) - critic(real)) + 10 * step.mean(square(norm - 1));
      step.minimize(critic_optimizer, loss, weights_of(critic));
      step.metric("critic_loss", loss);
    });
    auto const loss = -step.mean(critic(generator(noise)));
    step.minimize(generator_optimizer, loss, weights_of(generator));
    step.metric("generator_loss", loss);
  }
};
using gan_trainer = sc::step_trainer<gan_step, sc::step_options{.batch_size = batch}>;

/// Stops after the first epoch, and keeps what it sees.
struct watcher : sc::callback {
  std::vector<std::string> names;
  int batches = 0;
  void on_train_batch_end(int, sc::logs&) override { ++batches; }
  void on_epoch_end(int, sc::logs& values) override {
    for (auto const& each : values) names.push_back(each.name);
    model().stop_training = true;
  }
};

}  // namespace

TEST_CASE("a GAN with gradient penalty has Keras's losses and weights after ten steps") {
  auto const file = golden::read("training_steps.txt");
  gan_trainer model;
  golden::check_ten_steps(file, "", model,
                          [&](std::string const& step) {
                            auto const of = [&](char const* name) {
                              return golden::array_of<xt::xtensor<float, 2>>(file[name + step]);
                            };
                            return model.train_on_batch(sc::inputs(of("real"), of("noise"), of("mix")));
                          },
                          {"generator", "critic"});
}

TEST_CASE("fit, callbacks, weights by name, and the same again from the same weights") {
  xt::xtensor<float, 2> real = xt::zeros<float>({40, 4}), noise = xt::zeros<float>({40, 3}),
                        mix = xt::zeros<float>({40, 1});
  float number = 0.1F;
  for (auto* const each : {&real, &noise, &mix})
    for (float& x : *each) x = number = number * 3.7F * (1 - number);
  gan_trainer model, again;
  again.set_weights(model.get_weights());
  watcher seen;
  auto const history = model.fit(sc::inputs(real, noise, mix), {.epochs = 5, .verbose = 0, .callbacks = {&seen}});
  CHECK(seen.batches == 2);  // the 8 samples that are left fill no batch
  CHECK(seen.names == std::vector<std::string>{"critic_loss", "generator_loss"});
  CHECK(history.at("critic_loss").size() == 1);
  again.fit(real, sc::inputs(noise, mix), {.verbose = 0});
  CHECK(again.get_weights() == model.get_weights());

  auto weights = model.get_weights();
  REQUIRE(weights.size() == 8);
  CHECK(weights[0].name == "generator/dense/kernel:0");
  CHECK(weights[7].name == "critic/dense_1/bias:0");
  CHECK(model.get_weights<"critic">()[0].name == "dense/kernel:0");
  sc::predictor<critic_model, sc::inference{.batch_size = 4}> critic;
  critic.set_weights(model.get_weights<"critic">());
  weights[2].name = "other";
  CHECK_THROWS_WITH_AS(model.set_weights(weights), doctest::Contains("E4009"), sc::data_error);
  CHECK_THROWS_WITH_AS(model.fit(sc::inputs(real, noise)), doctest::Contains("E40"), sc::data_error);
  CHECK_THROWS_WITH_AS(model.train_on_batch(sc::inputs(real, noise, mix)), doctest::Contains("E4003"), sc::data_error);
}
