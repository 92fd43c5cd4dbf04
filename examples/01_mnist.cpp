// SPDX-License-Identifier: BSD-3-Clause
// Trains a perceptron on handwritten digits, evaluates it and looks at one prediction.
#include <stagecraft/stagecraft.hpp>
#include <cstdio>

#include "command_line/command_line.hpp"

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{256, sc::relu}, dense{128, sc::relu}, dense{10}>;

inline constexpr auto training = sc::training{.optimizer = sc::optimizers::rmsprop{},
                                              .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                              .metrics = sc::metrics::accuracy{},
                                              .batch_size = 64};

int main(int argc, char** argv) {
  auto const given = read_arguments(argc, argv, "Trains a perceptron on handwritten digits.", 10);
  auto const [train, test] = load_data(given);

  sc::summary<mlp>();
  sc::trainer<mlp, training> model;
  // Smaller steps from epoch to epoch, so that the last ones do not undo each other.
  sc::callbacks::learning_rate_scheduler slower([](int, double rate) { return 0.8 * rate; });
  model.fit(train.x, train.y, {.epochs = given.epochs, .callbacks = {&slower}, .validation_data = test});

  auto const [loss, accuracy] = model.evaluate(test.x, test.y);
  std::printf("test loss %.4f, test accuracy %.4f\n", loss, accuracy);

  xt::xtensor<float, 2> const logits = model.predict(test.x);
  int digit = 0;
  for (int i = 1; i < 10; ++i)
    if (logits(0, i) > logits(0, digit)) digit = i;
  std::printf("the first test image shows a %d, predicted is a %d\n", test.y(0), digit);
}
