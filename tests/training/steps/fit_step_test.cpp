// SPDX-License-Identifier: BSD-3-Clause
// A training step of one's own that is what `fit` does has the bits of `fit`.
#include <stagecraft/steps.hpp>
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
/// The same, in a way that is not recognised.
struct other_step : own_step {
  constexpr void train(auto& step, auto x, auto y) const {
    auto const loss = step.loss(sc::losses::huber{.delta = 0.5F}, y, model(x));
    step.minimize(optimizer, loss, weights_of(model));
    step.metric("huber", loss);
  }
};
inline constexpr auto training = sc::training{.optimizer = sc::optimizers::adam{.learning_rate = 0.01F},
                                              .loss = sc::losses::huber{.delta = 0.5F},
                                              .batch_size = 8};
using trainer_of_step = sc::step_trainer<own_step, sc::step_options{.batch_size = 8}>;

// The step's trainer is that of the model: also its time and its memory are those of `fit`.
static_assert(std::derived_from<trainer_of_step, sc::trainer<mlp, training, sc::host<1>>>);
static_assert(!std::derived_from<sc::step_trainer<other_step, sc::step_options{.batch_size = 8}>,
                                 sc::trainer<mlp, training, sc::host<1>>>);

}  // namespace

TEST_CASE("the weights of fit, bit for bit") {
  xt::xtensor<float, 2> x = xt::zeros<float>({32, 6}), y = xt::zeros<float>({32, 2});
  float number = 0.1F;
  for (auto* const each : {&x, &y})
    for (float& value : *each) value = number = number * 3.7F * (1 - number);
  sc::trainer<mlp, training, sc::host<1>> expected;
  auto const before = expected.get_weights();
  trainer_of_step model;
  auto const history = expected.fit(x, y, {.epochs = 3, .verbose = 0});
  auto const own = model.fit(sc::inputs(x, y), {.epochs = 3, .verbose = 0});
  CHECK(own.at("loss") == history.at("loss"));
  CHECK(model.get_weights() == expected.get_weights());
  CHECK(model.get_weights<"mlp">() == expected.get_weights());
  CHECK_FALSE(model.get_weights() == before);
}
