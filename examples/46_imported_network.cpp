// SPDX-License-Identifier: BSD-3-Clause
// Fine-tuning of an imported network: models/bars.hpp and bars.safetensors are what `stagecraft import` has written
// from a Keras file. The network names the direction of a bar. Without its last layer, and frozen, it gets another one
// that learns signs of two bars from few pictures. Beside it a network of the same shape that knows nothing.
#include <stagecraft/io/weights.hpp>
#include <stagecraft/models/fine_tuning.hpp>
#include <stagecraft/stagecraft.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <random>

#include "command_line/command_line.hpp"
#include "models/bars.hpp"

namespace sc = stagecraft;
using namespace sc::layers;

using known = sc::frozen<sc::without_top<models::bars, 1>>;  // its batch normalizations use their moving statistics
using tuned = sc::sequential<input{12, 12, 1}, known{}, dense{4}>;
using untaught = sc::sequential<input{12, 12, 1}, sc::without_top<models::bars, 1>{}, dense{4}>;

inline constexpr auto training = sc::training{.optimizer = sc::optimizers::adam{.learning_rate = 0.01F},
                                              .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                              .metrics = sc::metrics::accuracy{},
                                              .batch_size = 8};

struct signs {
  xt::xtensor<float, 4> x;
  xt::xtensor<int, 1> y;

  /// Draws `count` pictures: two bars of 7 pixels through one point, in eighths of a turn, and noise.
  explicit signs(std::size_t count, unsigned seed)
      : x(xt::zeros<float>({count, std::size_t{12}, std::size_t{12}, std::size_t{1}})), y(xt::zeros<int>({count})) {
    static constexpr std::array<std::array<int, 2>, 4> directions{{{0, 2}, {1, 3}, {0, 1}, {2, 3}}};
    std::mt19937 numbers(seed);
    auto const uniform = [&](float low, float high) {
      return low + (high - low) * static_cast<float>(numbers() % 4096) / 4096;
    };
    for (std::size_t i = 0; i < count; ++i) {
      y(i) = static_cast<int>(numbers() % 4);
      float const middle_x = uniform(4, 7), middle_y = uniform(4, 7);
      for (std::size_t row = 0; row < 12; ++row)
        for (std::size_t column = 0; column < 12; ++column) {
          float const dx = static_cast<float>(column) - middle_x, dy = static_cast<float>(row) - middle_y;
          float& pixel = x(i, row, column, 0) = uniform(-0.2F, 0.2F);
          for (int const direction : directions[static_cast<std::size_t>(y(i))]) {
            float const angle = static_cast<float>(direction) * 0.785398163F;
            float const along = dx * std::cos(angle) + dy * std::sin(angle);
            float const beside = dx * std::sin(angle) - dy * std::cos(angle);
            pixel += std::clamp(1.2F - std::hypot(beside, std::max(std::abs(along) - 3, 0.0F)), 0.0F, 1.0F);
          }
        }
    }
  }
};

int main(int argc, char** argv) try {
  auto const given = read_arguments(argc, argv, "Learns signs of two bars with an imported network that knows bars.",
                                    30, "not used: the example draws its pictures", "bars.safetensors of this folder");
  signs const few(16, 1), test(400, 2);

  sc::trainer<tuned, training> model;
  sc::predictor<models::bars, sc::inference{.batch_size = 8}> imported;
  imported.load_weights(given.model.empty() ? "examples/models/bars.safetensors" : given.model);
  auto weights = imported.get_weights();
  weights.resize(weights.size() - 2);  // without those of the last layer
  model.set_weights<"bars">(weights);

  sc::trainer<untaught, training> ignorant;
  model.fit(few.x, few.y, {.epochs = given.epochs, .verbose = 0});
  ignorant.fit(few.x, few.y, {.epochs = given.epochs, .verbose = 0});
  auto const with = model.evaluate(test.x, test.y, {.verbose = 0})[1];
  auto const without = ignorant.evaluate(test.x, test.y, {.verbose = 0})[1];
  std::printf("accuracy of signs after 16 pictures: %.3f; without the imported weights: %.3f\n", with, without);
  return with > 0.9 && with > without ? 0 : 1;
} catch (sc::error const& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}
