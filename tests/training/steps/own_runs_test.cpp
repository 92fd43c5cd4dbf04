// SPDX-License-Identifier: BSD-3-Clause
// Training steps with `test` and `predict` of their own: distillation and a variational auto-encoder, beside ten steps
// of Keras models with a train_step, a test_step and a call.
#include <stagecraft/steps.hpp>
#include <array>
#include <cstddef>
#include <doctest/doctest.h>
#include <string>
#include <vector>

#include "../../golden/ten_steps.hpp"

namespace sc = stagecraft;
using namespace sc::layers;

namespace {

constexpr int batch = 8;
constexpr float temperature = 3, share = 0.3F;

struct distillation : sc::training_step<distillation, input{5}, input{1}> {
  sc::trained<sc::sequential<input{5}, dense{12, sc::tanh}, dense{3}>, "teacher"> teacher;
  sc::trained<sc::sequential<input{5}, dense{4, sc::tanh}, dense{3}>, "student"> student;
  static constexpr auto optimizer = sc::optimizers::adam{.learning_rate = 0.02F};
  static constexpr auto hard_loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true};

  constexpr void train(auto& step, auto x, auto y) const {
    auto const says = step.softmax(teacher(x) * (1 / temperature)), learns = student(x);
    auto const imitates = step.softmax(learns * (1 / temperature));
    auto const hard = step.loss(hard_loss, y, learns);
    auto const soft = step.mean(step.sum(says * log(says / imitates), -1));
    step.minimize(optimizer, hard * share + soft * ((1 - share) * temperature * temperature), weights_of(student));
    step.metric("hard", hard);
    step.metric("soft", soft);
  }
  constexpr void test(auto& step, auto x, auto y) const { step.metric("hard", step.loss(hard_loss, y, student(x))); }
  constexpr auto predict(auto& step, auto x) const { return step.softmax(student(x)); }
};

struct autoencoder : sc::training_step<autoencoder, input{6}, input{2}> {
  sc::trained<sc::sequential<input{6}, dense{8, sc::tanh}, dense{4}>, "encoder"> encoder;
  sc::trained<sc::sequential<input{2}, dense{8, sc::tanh}, dense{6}>, "decoder"> decoder;
  static constexpr auto optimizer = sc::optimizers::sgd{.learning_rate = 0.02F, .momentum = 0.9F};

  constexpr auto losses(auto& step, auto x, auto noise) const {
    auto const code = encoder(x), mean = step.slice(code, -1, 0, 2), log_variance = step.slice(code, -1, 2, 2);
    auto const drawn = decoder(mean + exp(log_variance * 0.5F) * noise);
    return std::array{step.mean(step.sum(square(drawn - x), -1)),
                      step.mean(step.sum(square(mean) + exp(log_variance) - log_variance - 1, -1)) * 0.5F};
  }
  constexpr void train(auto& step, auto x, auto noise) const {
    auto const [reconstruction, divergence] = losses(step, x, noise);
    auto const loss = reconstruction + divergence;
    step.minimize(optimizer, loss, weights_of(encoder), weights_of(decoder));
    step.metric("loss", loss);
  }
  constexpr void test(auto& step, auto x) const {
    auto const [reconstruction, divergence] = losses(step, x, step.full({step.batch(), 2}, 0));
    step.metric("reconstruction", reconstruction);
    step.metric("divergence", divergence);
  }
  constexpr auto predict(auto& step, auto x) const { return decoder(step.slice(encoder(x), -1, 0, 2)); }
};

template <class Trainer>
void compare(std::string const& name, Trainer& model, std::vector<std::string> const& parts, bool tests_y) {
  auto const file = golden::read("own_steps.txt");
  auto const of = [&](std::string const& what) {
    return golden::array_of<xt::xtensor<float, 2>>(file[name + "/" + what]);
  };
  golden::check_ten_steps(
      file, name, model, [&](std::string const& step) { return model.train_on_batch(of("x" + step), of("y" + step)); },
      parts);
  auto const x = of("x/test"), y = of("y/test");
  auto const tested = model.evaluate(tests_y ? sc::inputs(x, y) : sc::sample_set(x));
  CHECK(golden::largest_difference(tested, file[name + "/tested"].values) < 1e-5);
  CHECK(golden::largest_difference(model.predict(x), file[name + "/predicted"].values) < 1e-5);
}

}  // namespace

TEST_CASE("distillation has Keras's losses, weights, tests and predictions after ten steps") {
  sc::step_trainer<distillation, sc::step_options{.batch_size = batch}> model;
  compare("distillation", model, {"/teacher", "/student"}, true);
}

TEST_CASE("a variational auto-encoder has those of Keras") {
  sc::step_trainer<autoencoder, sc::step_options{.batch_size = batch}> model;
  compare("autoencoder", model, {"/encoder", "/decoder"}, false);

  // Batches that are not full, validation data, and another trainer's weights.
  xt::xtensor<float, 2> x = xt::zeros<float>({20, 6}), noise = xt::zeros<float>({20, 2});
  float number = 0.1F;
  for (auto* const each : {&x, &noise})
    for (float& value : *each) value = number = number * 3.7F * (1 - number);
  auto const history = model.fit(x, noise, {.epochs = 2, .verbose = 0, .validation_data = x});
  auto const tested = model.evaluate(x);
  REQUIRE(history.at("val_divergence").size() == 2);
  CHECK(history.at("val_reconstruction")[1] == tested[0]);
  CHECK(history.at("val_divergence")[1] == tested[1]);
  CHECK_FALSE(history.at("val_reconstruction")[0] == tested[0]);
  xt::xtensor<float, 2> const all = model.predict(x), last = model.predict(xt::eval(xt::view(x, xt::range(16, 20))));
  REQUIRE(all.shape(0) == 20);
  for (std::size_t i = 0; i < 6; ++i) CHECK(all(19, i) == last(3, i));
  CHECK_THROWS_WITH_AS(model.evaluate(xt::eval(xt::view(x, xt::range(0, 4)))), doctest::Contains("E4003"),
                       sc::data_error);
}
