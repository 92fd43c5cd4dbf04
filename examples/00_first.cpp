// SPDX-License-Identifier: BSD-3-Clause
// README's first program, which includes nothing but the library.
#include <stagecraft/stagecraft.hpp>
#include <cstdio>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{256, sc::relu}, dense{128, sc::relu}, dense{10}>;

inline constexpr auto training = sc::training{.optimizer = sc::optimizers::rmsprop{},
                                              .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                              .metrics = sc::metrics::accuracy{},
                                              .batch_size = 64};

int main() {
  auto const [train, test] = sc::datasets::digits();  // drawn by the library; sc::datasets::mnist(path) reads files
  sc::trainer<mlp, training> model;
  model.fit(train.x, train.y, {.epochs = 3, .validation_data = test});
  auto const [loss, accuracy] = model.evaluate(test.x, test.y);
  xt::xtensor<float, 2> const logits = model.predict(test.x);
  std::printf("accuracy %.3f; the first image is a %d, with logit %.1f\n", accuracy, test.y(0), logits(0, test.y(0)));
}
