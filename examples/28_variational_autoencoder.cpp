// SPDX-License-Identifier: BSD-3-Clause
// A variational auto-encoder: digits become eight numbers that are about normal, and numbers that are drawn so become
// digits that nobody has written. What holds the numbers to the normal distribution, the divergence, is added to the
// loss by a layer. Fails if the test's images cost more than 200 nats each, where the mean of all images costs 235, or
// if less than 10 of them are the divergence, so that little goes through the numbers.
#include <stagecraft/stagecraft.hpp>
#include <stagecraft/training/shares.hpp>
#include <cstddef>
#include <cstdio>
#include <random>

#include "command_line/command_line.hpp"

namespace sc = stagecraft;
using namespace sc::layers;

constexpr int side = 28, pixels = side * side, latent = 8;

/// Draws from the normal distribution of this mean and the logarithm of this variance.
struct sampling : sc::layer<sampling> {
  static constexpr std::string_view class_name = "Sampling";

  constexpr auto call(auto& ops, auto mean, auto log_var) const {
    // The loss is a mean over pixels, and so is this.
    ops.add_loss(ops.sum(exp(log_var) + square(mean) - log_var - 1, -1) * (0.5F / pixels));
    auto const noise = ops.normal(mean.shape());
    return mean + exp(log_var * 0.5F) * noise;
  }
};

struct encoder : sc::functional<encoder> {
  static constexpr std::string_view name = "encoder";

  static constexpr auto build(auto& model) {
    auto const x = dense(256, sc::relu)(flatten()(model.input(side, side)));
    return sc::outputs(dense(latent, {.name = "mean"})(x), dense(latent, {.name = "log_var"})(x));
  }
};

struct decoder : sc::functional<decoder> {
  static constexpr std::string_view name = "decoder";

  static constexpr auto build(auto& model) {
    auto const x = dense(256, sc::relu)(model.input(latent));
    return reshape(side, side)(dense(pixels)(x));
  }
};

struct autoencoder : sc::functional<autoencoder> {
  static constexpr std::string_view name = "autoencoder";

  static constexpr auto build(auto& model) {
    auto const [mean, log_var] = encoder{}(model.input(side, side));
    return decoder{}(sampling()(mean, log_var));
  }
};

inline constexpr auto training = sc::training{.optimizer = sc::optimizers::adam{.learning_rate = 2e-3F},
                                              .loss = sc::losses::binary_crossentropy{.from_logits = true},
                                              .metrics = sc::metrics::binary_crossentropy{.from_logits = true},
                                              .batch_size = 64};
inline constexpr auto five = sc::inference{.batch_size = 5};

int main(int argc, char** argv) {
  auto const given = read_arguments(argc, argv, "Trains a variational auto-encoder, which draws digits in the end.", 3);
  auto const [train, test] = load_data(given);
  sc::trainer<autoencoder, training> model;
  model.fit(train.x, train.x, {.epochs = given.epochs, .validation_data = {test.x, test.x}});
  auto const [loss, reconstruction] = model.evaluate(test.x, test.x, {.verbose = 0});

  // The decoder alone, with what it has learnt: its weights are the trainer's.
  sc::predictor<decoder, five> draws{sc::shares<"decoder">(model)};
  std::mt19937 engine(1);
  xt::xtensor<float, 2> numbers({five.batch_size, latent});
  for (float& number : numbers) {
    number = -6;  // about normal
    for (int i = 0; i < 12; ++i) number += static_cast<float>(engine() % 65536) / 65536;
  }
  auto const logits = draws(numbers);
  for (std::size_t row = 2; row < side - 2; row += 2) {
    for (std::size_t image = 0; image < five.batch_size; ++image)
      for (std::size_t column = 4; column < side - 4; ++column) {
        float const ink = logits(image, row, column);
        std::putchar(ink > 1 ? '#' : ink > 0 ? '+' : ink > -2 ? '.' : ' ');
      }
    std::putchar('\n');
  }
  double const nats = loss * pixels, divergence = (loss - reconstruction) * pixels;
  std::printf("an image costs %.1f nats, %.1f of them are the divergence\n", nats, divergence);
  return nats <= 200 && divergence >= 10 ? 0 : 1;
}
