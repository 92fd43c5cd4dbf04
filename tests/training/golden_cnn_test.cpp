// SPDX-License-Identifier: BSD-3-Clause
// Ten training steps of a small convolutional network against real Keras; golden/make_cnn.py describes the network.
#include "golden_trainer.hpp"

#include <cstdint>
#include <type_traits>

namespace {

using cnn = sc::sequential<input{28, 28, 1}, conv2d{32, 3, sc::relu}, conv2d{64, 3, sc::relu}, max_pooling2d{2},
                           flatten{}, dense{128, sc::relu}, dense{10}>;
constexpr int steps = 10, batch = 16, stride = 4999;

/// The same numbers in [0, 1) as in make_cnn.py.
float number(int stream, std::size_t index) {
  auto z = static_cast<std::uint32_t>(index + static_cast<std::size_t>(stream) * 7919);
  z = (z ^ (z >> 16U)) * 0x21F0AAADU;
  z = (z ^ (z >> 15U)) * 0xD35A2D97U;
  z ^= z >> 15U;
  return static_cast<float>(z >> 8U) * 0x1p-24F;
}

struct step_data {
  xt::xtensor<float, 4> x = xt::xtensor<float, 4>::from_shape({batch, 28, 28, 1});
  std::vector<int> labels;

  explicit step_data(int step) {
    for (std::size_t i = 0; i < x.size(); ++i) x.data()[i] = number(100 + step, i) * 0.5F;
    for (int sample = 0; sample < batch; ++sample) {
      int const label = (sample * 7 + step * 3) % 10;
      labels.push_back(label);
      for (int row = 0; row < 28; ++row) x(sample, row, 2 * label + 3, 0) += 0.5F;
    }
  }
};

void set_first_weights(sc::trainers::trainable& model) {
  auto weights = model.get_weights();
  for (std::size_t index = 0; index < weights.size(); ++index) {
    auto const& shape = weights[index].shape;
    double fan_in = 400;
    if (shape.size() > 1) fan_in = static_cast<double>(weights[index].values.size()) / shape.back();
    float const scale = 2.0F * static_cast<float>(1.0 / std::sqrt(fan_in));
    for (std::size_t i = 0; i < weights[index].values.size(); ++i)
      weights[index].values[i] = (number(static_cast<int>(index), i) - 0.5F) * scale;
  }
  model.set_weights(weights);
}

template <auto Optimizer, int Threads>
void check_training(std::string const& name) {
  constexpr auto training = sc::training{.optimizer = Optimizer,
                                         .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                         .batch_size = batch};
  auto const file = golden::read("cnn.txt");
  sc::trainer<cnn, training, sc::host<Threads>> model;
  set_first_weights(model);
  std::vector<double> losses;
  for (int step = 0; step < steps; ++step) {
    step_data const data(step);
    losses.push_back(model.train_on_batch(data.x, data.labels)[0]);
  }
  CHECK(golden::deviation(losses, file[name + "/losses"].values) < 1e-5);
  xt::xtensor<float, 2> const predictions = model.predict(step_data(0).x);
  CHECK(golden::deviation(predictions, file[name + "/predictions"].values) < 1e-4);
  auto const weights = model.get_weights();
  for (std::size_t index = 0; index < weights.size(); ++index) {
    std::vector<float> some;
    for (std::size_t i = 0; i < weights[index].values.size(); i += stride) some.push_back(weights[index].values[i]);
    CHECK(golden::deviation(some, file[name + "/" + std::to_string(index)].values) < 1e-4);
  }
}

}  // namespace

TEST_CASE("a convolutional network trains as in Keras") {
  check_training<sc::optimizers::sgd{.learning_rate = 0.05F, .momentum = 0.9F}, 1>("sgd");
  check_training<sc::optimizers::adam{}, 2>("adam");
}
