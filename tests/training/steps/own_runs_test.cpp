// SPDX-License-Identifier: BSD-3-Clause
// Training steps with `test` and `predict` of their own: distillation and a variational auto-encoder, beside ten steps
// of Keras models with a train_step, a test_step and a call.
#include <stagecraft/steps.hpp>
#include <array>
#include <cmath>
#include <cstddef>
#include <doctest/doctest.h>
#include <string>
#include <vector>

#include "../../golden/golden.hpp"

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

xt::xtensor<float, 2> array_of(golden::tensor const& tensor) {
  xt::xtensor<float, 2> result = xt::zeros<float>({tensor.shape[0], tensor.shape[1]});
  std::copy(tensor.values.begin(), tensor.values.end(), result.begin());
  return result;
}
std::vector<sc::weight_array> weights_of_file(golden::file const& file, std::string const& name) {
  std::vector<sc::weight_array> result;
  for (int i = 0; i < 4; ++i) {
    auto const& tensor = file[name + std::to_string(i)];
    result.push_back({{}, {tensor.shape.begin(), tensor.shape.end()}, tensor.values});
  }
  return result;
}
template <class Found>
double largest_difference(Found const& found, std::vector<float> const& expected) {
  REQUIRE(found.size() == expected.size());
  REQUIRE(found.size() > 0);
  double largest = 0;
  std::size_t i = 0;
  for (auto const each : found) {
    REQUIRE(std::isfinite(each));
    largest = std::max(largest, std::abs(static_cast<double>(each) - static_cast<double>(expected[i++])));
  }
  return largest;
}

template <sc::fixed_name First, sc::fixed_name Second, class Trainer>
void compare(golden::file const& file, std::string const& name, Trainer& model, bool tests_y) {
  auto const of = [&](std::string const& what) { return array_of(file[name + "/" + what]); };
  auto const part = [&](sc::fixed_name const& model_name, char const* when) {
    return weights_of_file(file, name + "/" + std::string(model_name.view()) + "/" + when + "/");
  };
  model.template set_weights<First>(part(First, "before"));
  model.template set_weights<Second>(part(Second, "before"));
  auto const& losses = file[name + "/losses"].values;
  std::size_t const count = Trainer::value_count;
  for (std::size_t step = 0; step < 10; ++step) {
    CAPTURE(step);
    auto const number = std::to_string(step);
    auto const values = model.train_on_batch(of("x/" + number), of("y/" + number));
    for (std::size_t i = 0; i < count; ++i)
      CHECK(std::abs(values[i] - static_cast<double>(losses[step * count + i])) < 1e-5);
  }
  auto const check = [&](std::vector<sc::weight_array> const& found, std::vector<sc::weight_array> const& expected) {
    REQUIRE(found.size() == expected.size());
    for (std::size_t i = 0; i < found.size(); ++i)
      CHECK(largest_difference(found[i].values, expected[i].values) < 1e-5);
  };
  check(model.template get_weights<First>(), part(First, "after"));
  check(model.template get_weights<Second>(), part(Second, "after"));
  CHECK(largest_difference(part(Second, "after")[0].values, part(Second, "before")[0].values) > 1e-2);
  auto const x = of("x/test"), y = of("y/test");
  auto const tested = model.evaluate(tests_y ? sc::inputs(x, y) : sc::sample_set(x));
  CHECK(largest_difference(tested, file[name + "/tested"].values) < 1e-5);
  CHECK(largest_difference(model.predict(x), file[name + "/predicted"].values) < 1e-5);
}

}  // namespace

TEST_CASE("distillation has Keras's losses, weights, tests and predictions after ten steps") {
  sc::step_trainer<distillation, sc::step_options{.batch_size = batch}> model;
  compare<"teacher", "student">(golden::read("own_steps.txt"), "distillation", model, true);
}

TEST_CASE("a variational auto-encoder has those of Keras") {
  sc::step_trainer<autoencoder, sc::step_options{.batch_size = batch}> model;
  compare<"encoder", "decoder">(golden::read("own_steps.txt"), "autoencoder", model, false);

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
