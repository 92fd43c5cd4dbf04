// SPDX-License-Identifier: BSD-3-Clause
// README's network, trained for a moment: read by a file that imports the library and by one that includes it.

namespace {

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{32, sc::relu}, dense{10}>;

inline constexpr auto training = sc::training{.optimizer = sc::optimizers::rmsprop{},
                                              .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                              .metrics = sc::metrics::accuracy{},
                                              .batch_size = 64};

/// The accuracy, and a logit of the first image.
struct outcome {
  double accuracy;
  float logit;
};

outcome trained() {
  auto const [train, test] = sc::datasets::digits({.train = 4096, .test = 1024});
  sc::trainer<mlp, training> model;
  model.fit(train.x, train.y, {.verbose = 0});
  auto const [loss, accuracy] = model.evaluate(test.x, test.y, {.verbose = 0});
  xt::xtensor<float, 2> const logits = model.predict(test.x);
  return {accuracy, logits(0, test.y(0))};
}

}  // namespace
