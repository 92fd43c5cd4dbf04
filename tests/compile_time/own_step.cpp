// SPDX-License-Identifier: BSD-3-Clause
// The perceptron of trainer.cpp by a training step of one's own that does what `fit` does.
#include <stagecraft/steps.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp =
    sc::sequential<input{28, 28}, flatten{}, dense{256, sc::relu}, dropout{0.2}, dense{128, sc::relu}, dense{10}>;

struct own_step : sc::training_step<own_step, input{28, 28}, input{1}> {
  sc::trained<mlp, "mlp"> model;
  static constexpr auto optimizer = sc::optimizers::rmsprop{};
  static constexpr auto loss_of_labels = sc::losses::sparse_categorical_crossentropy{.from_logits = true};

  constexpr void train(auto& step, auto x, auto y) const {
    auto const loss = step.loss(loss_of_labels, y, model(x));
    step.minimize(optimizer, loss, weights_of(model));
    step.metric("loss", loss);
  }
};

int main() {
  auto const [train, test] = sc::datasets::digits();
  sc::step_trainer<own_step, sc::step_options{.batch_size = 64}> model;
  model.fit(train.x, train.y, {.epochs = 3, .validation_data = sc::inputs(test.x, test.y)});
  auto const [loss] = model.evaluate(test.x, test.y);
  xt::xtensor<float, 2> const logits = model.predict(test.x);
  return loss < 1 && logits(0, 0) < 1 ? 0 : 1;
}
