// SPDX-License-Identifier: BSD-3-Clause
// A training step of one's own that is what `fit` does has the bits of `fit`, also where it runs by itself.
#include <stagecraft/steps.hpp>
#include <stagecraft/training/shares.hpp>
#include <concepts>
#include <cstddef>
#include <doctest/doctest.h>
#include <type_traits>

namespace sc = stagecraft;
using namespace sc::layers;

namespace {

using mlp = sc::sequential<input{6}, dense{16, sc::relu}, dropout{0.25F}, dense{2}>;

struct own_step : sc::training_step<own_step, input{6}, input{2}> {
  sc::trained<mlp, "mlp"> model;
  static constexpr auto optimizer = sc::optimizers::adam{.learning_rate = 0.01F};

  constexpr void train(auto& step, auto x, auto y) const {
    auto const loss = step.loss(sc::losses::huber{.delta = 0.5F}, y, model(x));
    step.minimize(optimizer, loss, weights_of(model));
    step.metric("loss", loss);
  }
};
using normalized = sc::sequential<input{6}, dense{16}, batch_normalization{}, activation{sc::relu}, dense{2}>;
/// The same, in a way that is not recognised: its sub-step is a graph with the layers of the model, and their kernels.
/// Only a dropout would draw other numbers.
struct other_step : sc::training_step<other_step, input{6}, input{2}> {
  sc::trained<normalized, "mlp"> model;
  static constexpr auto optimizer = own_step::optimizer;

  constexpr void train(auto& step, auto x, auto y) const {
    auto const loss = step.loss(sc::losses::huber{.delta = 0.5F}, y, model(x));
    step.minimize(optimizer, loss, weights_of(model));
    step.metric("huber", loss);
  }
};
inline constexpr auto training = sc::training{.optimizer = sc::optimizers::adam{.learning_rate = 0.01F},
                                              .loss = sc::losses::huber{.delta = 0.5F},
                                              .batch_size = 8};
/// A penalty on slopes, whose gradient is one of the model's inside.
struct slope_step : sc::training_step<slope_step, input{6}> {
  sc::trained<sc::sequential<input{6}, dense{1}>> model;
  static constexpr auto optimizer = own_step::optimizer;

  constexpr void train(auto& step, auto x) const {
    auto const loss = step.mean(square(step.gradient(model(x), x)));
    step.minimize(optimizer, loss, weights_of(model));
  }
};
static_assert(sc::trainers::has_graphs<other_step> && !sc::trainers::has_graphs<slope_step>);

using trainer_of_step = sc::step_trainer<own_step, sc::step_options{.batch_size = 8}>;

// The step's trainer is that of the model: also its time and its memory are those of `fit`.
static_assert(std::derived_from<trainer_of_step, sc::trainer<mlp, training, sc::host<1>>>);
static_assert(!std::derived_from<sc::step_trainer<other_step, sc::step_options{.batch_size = 8}>,
                                 sc::trainer<normalized, training, sc::host<1>>>);

xt::xtensor<float, 2> numbers(std::size_t columns, float number) {
  xt::xtensor<float, 2> result = xt::zeros<float>({std::size_t{32}, columns});
  for (float& value : result) value = number = number * 3.7F * (1 - number);
  return result;
}

}  // namespace

TEST_CASE("the weights of fit, bit for bit") {
  auto const x = numbers(6, 0.1F), y = numbers(2, 0.3F);
  sc::trainer<mlp, training, sc::host<1>> expected;
  auto const before = expected.get_weights();
  trainer_of_step model;
  auto const history = expected.fit(x, y, {.epochs = 3, .verbose = 0, .validation_data = {x, y}});
  auto const own = model.fit(sc::inputs(x, y), {.epochs = 3, .verbose = 0, .validation_data = sc::inputs(x, y)});
  CHECK(own.at("loss") == history.at("loss"));
  CHECK(own.at("val_loss") == history.at("val_loss"));
  CHECK(model.get_weights() == expected.get_weights());
  CHECK(model.get_weights<"mlp">() == expected.get_weights());
  CHECK_FALSE(model.get_weights() == before);
  sc::predictor<mlp, sc::inference{.batch_size = 8}> shared{sc::shares<"mlp">(model)};
  CHECK(shared.get_weights() == model.get_weights());
  model.fit(sc::inputs(x, y), {.verbose = 0});
  CHECK(shared.get_weights() == model.get_weights());
}

TEST_CASE("a step that fit does not carry out has its kernels and its bits, with a batch normalization") {
  auto const x = numbers(6, 0.1F), y = numbers(2, 0.3F);
  sc::trainer<normalized, training, sc::host<1>> expected;
  sc::step_trainer<other_step, sc::step_options{.batch_size = 8}> model;
  auto const before = expected.get_weights();
  expected.fit(x, y, {.epochs = 3, .verbose = 0});
  model.fit(sc::inputs(x, y), {.epochs = 3, .verbose = 0});
  CHECK(model.get_weights<"mlp">() == expected.get_weights());
  CHECK_FALSE(expected.get_weights() == before);

  // A predictor of the step's model has its weights, in one memory.
  static constexpr auto drawing = sc::inference{.batch_size = 8};
  sc::predictor<normalized, drawing> shared{sc::shares<"mlp">(model)}, copied;
  auto const data = sc::inputs(x, y);
  for (int i = 0; i < 2; ++i) {
    copied.set_weights(model.get_weights<"mlp">());
    CHECK(shared.get_weights() == copied.get_weights());
    xt::xtensor<float, 2> const found = shared.predict(x), wanted = copied.predict(x);
    CHECK(found == wanted);
    model.fit(data, {.verbose = 0});
  }
  CHECK_THROWS_WITH_AS(model.fit(data, {.validation_data = data}), doctest::Contains("E4195"), sc::data_error);
}
