// SPDX-License-Identifier: BSD-3-Clause
// A GAN with gradient penalty (WGAN-GP) as a training step of one's own: two models, two optimizers, five steps of the
// critic for each of the generator, and a gradient inside of the loss. It learns to draw points of a ring.
#include <stagecraft/steps.hpp>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <random>

#include "command_line/command_line.hpp"

namespace sc = stagecraft;
using namespace sc::layers;

inline constexpr int noise_size = 4;
using generator_model = sc::sequential<input{noise_size}, dense{32, sc::relu}, dense{32, sc::relu}, dense{2}>;
using critic_model = sc::sequential<input{2}, dense{32, sc::relu}, dense{32, sc::relu}, dense{1}>;

struct gan_step : sc::training_step<gan_step, input{2}> {
  sc::trained<generator_model, "generator"> generator;
  sc::trained<critic_model, "critic"> critic;
  static constexpr auto critic_optimizer = sc::optimizers::adam{.learning_rate = 1e-3F, .beta_1 = 0.5F};
  static constexpr auto generator_optimizer = critic_optimizer;

  constexpr void train(auto& step, auto real) const {
    int const batch = step.batch();
    step.repeat(5, [&] {
      auto const fake = step.stop_gradient(generator(step.normal({batch, noise_size})));
      auto const mix = step.uniform({batch, 1}), mixed = real * mix + fake * (1 - mix);
      auto const slope = step.gradient(critic(mixed), mixed);
      auto const norm = sqrt(step.sum(square(slope), -1) + 1e-12F);
      auto const distance = step.mean(critic(fake) - critic(real));
      step.minimize(critic_optimizer, distance + step.mean(square(norm - 1)), weights_of(critic));
      step.metric("distance", -distance);
    });
    auto const loss = -step.mean(critic(generator(step.normal({batch, noise_size}))));
    step.minimize(generator_optimizer, loss, weights_of(generator));
    step.metric("generator_loss", loss);
  }
};

int main(int argc, char** argv) {
  auto const given = read_arguments(argc, argv, "Learns to draw points of a ring.", 40);
  constexpr std::size_t count = 2048;
  std::mt19937 engine(1);
  std::normal_distribution<float> normal;
  xt::xtensor<float, 2> points = xt::zeros<float>({count, std::size_t{2}});
  for (std::size_t i = 0; i < count; ++i) {
    float const angle = 6.2831853F * static_cast<float>(i) / static_cast<float>(count);
    points(i, 0) = std::cos(angle) + 0.05F * normal(engine);
    points(i, 1) = std::sin(angle) + 0.05F * normal(engine);
  }

  // Two replicas, each on a thread and with batches of its own, whose gradients become one in each `minimize`.
  static constexpr auto options = sc::step_options{
      .batch_size = 32, .num_replicas = 2, .cross_replica_reduction = sc::cross_replica_reduction::mean};
  sc::step_trainer<gan_step, options, sc::host<2>> model;
  model.fit(points, {.epochs = given.epochs, .verbose = 2});

  sc::predictor<generator_model, sc::inference{.batch_size = 64}> generator;
  generator.set_weights(model.get_weights<"generator">());
  xt::xtensor<float, 2> noise = xt::zeros<float>({std::size_t{1024}, std::size_t{noise_size}});
  for (float& x : noise) x = normal(engine);
  xt::xtensor<float, 2> const drawn = generator.predict(noise);
  int near = 0, of_sector[8]{};
  for (std::size_t i = 0; i < 1024; ++i) {
    double const x = static_cast<double>(drawn(i, 0)), y = static_cast<double>(drawn(i, 1));
    near += std::abs(std::sqrt(x * x + y * y) - 1) < 0.25 ? 1 : 0;
    ++of_sector[static_cast<int>((std::atan2(y, x) + 3.1416) / 0.7855) % 8];
  }
  int fewest = 1024;
  for (int const each : of_sector) fewest = each < fewest ? each : fewest;
  std::printf("%.0f %% of the points are near the ring; each eighth of it has at least %d of 1024\n", near / 10.24,
              fewest);
  return near > 800 && fewest > 40 ? 0 : 1;
}
