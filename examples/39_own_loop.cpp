// SPDX-License-Identifier: BSD-3-Clause
// Gradients as arrays in a loop of one's own: sharpness-aware minimization (SAM) takes the gradient where the loss near
// the weights is highest, so that training ends in flat valleys. Each update needs two gradients.
#include <stagecraft/steps.hpp>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <numeric>
#include <random>
#include <vector>

#include "command_line/command_line.hpp"

namespace sc = stagecraft;
using namespace sc::layers;

inline constexpr int batch = 32;
using network = sc::sequential<input{28, 28}, flatten{}, dense{64, sc::relu}, dense{10}>;
inline constexpr auto training = sc::training{.optimizer = sc::optimizers::sgd{.learning_rate = 0.1F, .momentum = 0.9F},
                                              .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                              .metrics = sc::metrics::accuracy{},
                                              .batch_size = batch};
using trainer = sc::trainer<network, training, sc::with_gradients<>>;

/// Moves weights by `distance` along a direction.
void move(std::vector<sc::weight_array>& weights, std::vector<sc::weight_array> const& direction, float distance) {
  double squares = 0;
  for (auto const& each : direction)
    for (float const value : each.values) squares += static_cast<double>(value) * static_cast<double>(value);
  float const factor = distance / static_cast<float>(std::sqrt(squares) + 1e-12);
  for (std::size_t i = 0; i < weights.size(); ++i)
    for (std::size_t k = 0; k < weights[i].values.size(); ++k) weights[i].values[k] += factor * direction[i].values[k];
}

/// One update; returns the loss before it.
double update(trainer& model, auto const& x, auto const& y) {
  auto const before = model.get_weights();
  auto uphill = before;
  auto const [loss, slope] = model.gradients(x, y);
  move(uphill, slope, 0.05F);
  model.set_weights(uphill);
  auto const steepest = model.gradients(x, y);
  model.set_weights(before);
  model.apply_gradients(steepest.gradients);
  return loss;
}

int main(int argc, char** argv) {
  auto const given = read_arguments(argc, argv, "Trains with gradients of its own, for flat valleys of the loss.", 3);
  auto const [train, test] = load_data(given);
  std::vector<std::size_t> order(train.x.shape(0));
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937 engine(1);

  trainer model;
  xt::xtensor<float, 3> x = xt::zeros<float>({std::size_t{batch}, train.x.shape(1), train.x.shape(2)});
  xt::xtensor<int, 1> y = xt::zeros<int>({std::size_t{batch}});
  for (int epoch = 0; epoch < given.epochs; ++epoch) {
    std::shuffle(order.begin(), order.end(), engine);
    double loss = 0;
    std::size_t const steps = order.size() / batch;
    for (std::size_t step = 0; step < steps; ++step) {
      for (std::size_t i = 0; i < batch; ++i) {
        std::size_t const sample = order[step * batch + i];
        xt::view(x, i) = xt::view(train.x, sample);
        y(i) = train.y(sample);
      }
      loss += update(model, x, y);
    }
    std::printf("epoch %d: loss %.4f\n", epoch + 1, loss / static_cast<double>(steps));
  }
  auto const [loss, accuracy] = model.evaluate(test.x, test.y, {.verbose = 0});
  std::printf("test loss %.4f, test accuracy %.3f\n", loss, accuracy);
  return accuracy > 0.95 ? 0 : 1;
}
