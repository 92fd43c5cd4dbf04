// SPDX-License-Identifier: BSD-3-Clause
// A trainer of the five layers of five_layers.cpp, and all that a program says to it.
#include <stagecraft/stagecraft.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp =
    sc::sequential<input{28, 28}, flatten{}, dense{256, sc::relu}, dropout{0.2}, dense{128, sc::relu}, dense{10}>;

inline constexpr auto training = sc::training{.optimizer = sc::optimizers::rmsprop{},
                                              .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                              .metrics = sc::metrics::accuracy{},
                                              .batch_size = 64};

int main() {
  auto const [train, test] = sc::datasets::digits();
  sc::trainer<mlp, training> model;
  model.fit(train.x, train.y, {.epochs = 3, .validation_data = test});
  auto const [loss, accuracy] = model.evaluate(test.x, test.y);
  xt::xtensor<float, 2> const logits = model.predict(test.x);
  return loss < 1 && accuracy > 0.9 && logits(0, 0) < 1 ? 0 : 1;
}
