// SPDX-License-Identifier: BSD-3-Clause
// A variational auto-encoder as a training step of one's own: random numbers inside of `train`, a `test` without them,
// and a `predict` that draws what it has seen. Pictures of a spot become two numbers, and pictures again.
#include <stagecraft/steps.hpp>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <random>

#include "command_line/command_line.hpp"

namespace sc = stagecraft;
using namespace sc::layers;

inline constexpr int side = 8, pixels = side * side;

struct autoencoder : sc::training_step<autoencoder, input{pixels}> {
  sc::trained<sc::sequential<input{pixels}, dense{48, sc::tanh}, dense{4}>, "encoder"> encoder;
  sc::trained<sc::sequential<input{2}, dense{48, sc::tanh}, dense{48, sc::tanh}, dense{pixels}>, "decoder"> decoder;
  static constexpr auto optimizer = sc::optimizers::adam{.learning_rate = 0.004F};

  /// The errors of what is drawn of x, and how far its codes are from a normal distribution, in nats.
  constexpr auto losses(auto& step, auto x, auto noise) const {
    auto const code = encoder(x), mean = step.slice(code, -1, 0, 2), log_variance = step.slice(code, -1, 2, 2);
    auto const drawn = decoder(mean + exp(log_variance * 0.5F) * noise);
    return std::array{step.mean(step.sum(square(drawn - x), -1)),
                      step.mean(step.sum(square(mean) + exp(log_variance) - log_variance - 1, -1)) * 0.5F};
  }
  constexpr void train(auto& step, auto x) const {
    auto const [error, divergence] = losses(step, x, step.normal({step.batch(), 2}));
    step.minimize(optimizer, error + divergence * 0.02F, weights_of(encoder), weights_of(decoder));
    step.metric("error", error);
    step.metric("divergence", divergence);
  }
  constexpr void test(auto& step, auto x) const {
    step.metric("error", losses(step, x, step.full({step.batch(), 2}, 0))[0]);
  }
  constexpr auto predict(auto& step, auto x) const { return decoder(step.slice(encoder(x), -1, 0, 2)); }
};

/// Pictures with a spot somewhere.
xt::xtensor<float, 2> draw(std::size_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> place(1.5F, side - 2.5F);
  xt::xtensor<float, 2> result = xt::zeros<float>({count, std::size_t{pixels}});
  for (std::size_t i = 0; i < count; ++i) {
    float const x = place(engine), y = place(engine);
    for (int at = 0; at < pixels; ++at) {
      float const dx = static_cast<float>(at % side) - x, dy = static_cast<float>(at / side) - y;
      result(i, static_cast<std::size_t>(at)) = std::exp(-(dx * dx + dy * dy) / 3);
    }
  }
  return result;
}

int main(int argc, char** argv) {
  auto const given = read_arguments(argc, argv, "Trains a variational auto-encoder by a step of its own.", 60);
  auto const train = draw(1024, 1), test = draw(256, 2);
  sc::step_trainer<autoencoder, sc::step_options{.batch_size = 32}> model;
  double const before = model.evaluate(test)[0];
  model.fit(train, {.epochs = given.epochs, .verbose = 2, .validation_data = test});
  double const after = model.evaluate(test)[0];

  xt::xtensor<float, 2> const drawn = model.predict(test);
  for (std::size_t row = 0; row < side; ++row) {  // a picture, and what two numbers keep of it
    for (auto const* const each : {&test, &drawn}) {
      for (std::size_t column = 0; column < side; ++column) {
        float const value = (*each)(0, row * side + column);
        std::putchar(" .:-=+*#%@"[value < 0 ? 0 : value > 1 ? 9 : static_cast<int>(value * 9)]);
      }
      std::fputs("   ", stdout);
    }
    std::putchar('\n');
  }
  std::printf("the error of a picture was %.2f, and is %.2f\n", before, after);
  return after < 0.5 ? 0 : 1;
}
