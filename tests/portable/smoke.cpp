// SPDX-License-Identifier: BSD-3-Clause
// What a platform must do: train a small network of several kinds of layer on drawn data, and predict with a predictor.
// Prints numbers that platforms.py compares with those of another platform.
#include <stagecraft/stagecraft.hpp>

#include <cmath>
#include <cstdio>

namespace sc = stagecraft;
using namespace sc::layers;

using network = sc::sequential<input{8, 8, 1}, conv2d{4, 3, sc::relu}, max_pooling2d{2}, batch_normalization{},
                               reshape{9, 4}, lstm{6}, dense{12, sc::tanh}, dense{3}>;
inline constexpr auto training = sc::training{.optimizer = sc::optimizers::adam{.learning_rate = 0.01F},
                                              .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                              .metrics = sc::metrics::accuracy{},
                                              .batch_size = 16,
                                              .seed = 7};

int main() {
  // Three classes: bright in the upper, middle or lower rows.
  xt::xtensor<float, 4> x = xt::zeros<float>({96, 8, 8, 1});
  xt::xtensor<int, 1> y = xt::zeros<int>({96});
  unsigned state = 1;
  for (std::size_t i = 0; i < 96; ++i) {
    y(i) = static_cast<int>(i % 3);
    for (std::size_t row = 0; row < 8; ++row)
      for (std::size_t column = 0; column < 8; ++column) {
        state = state * 1664525U + 1013904223U;
        bool const is_bright = row / 3 == i % 3;
        x(i, row, column, 0) = static_cast<float>(state >> 8U) / 16777216.0F + (is_bright ? 0.7F : 0.0F);
      }
  }

  sc::trainer<network, training, sc::host<2>> model;
  auto const history = model.fit(x, y, {.epochs = 4, .verbose = 0, .shuffle = false});
  for (double const loss : history.at("loss")) std::printf("loss %.5f\n", loss);

  sc::predictor<network, sc::inference{.batch_size = 1}> predictor;
  predictor.set_weights(model.get_weights());
  xt::xtensor<float, 2> const logits = predictor.predict(x);
  xt::xtensor<float, 2> const by_trainer = model.predict(x);
  float difference = 0;
  for (std::size_t i = 0; i < logits.size(); ++i)
    difference = std::fmax(difference, std::fabs(logits.data()[i] - by_trainer.data()[i]));
  std::printf("%s\n", difference < 1e-5F ? "predictor and trainer agree" : "predictor and trainer differ");
  for (int i = 0; i < 6; ++i) std::printf("logit %.4f\n", static_cast<double>(logits.data()[i]));
}
