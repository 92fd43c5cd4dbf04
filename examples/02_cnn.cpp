// SPDX-License-Identifier: BSD-3-Clause
// Trains a small convolutional network on handwritten digits: two convolutions, one pooling, two dense layers.
#include <stagecraft/stagecraft.hpp>
#include <cstdio>

#include "command_line/command_line.hpp"

namespace sc = stagecraft;
using namespace sc::layers;

using cnn = sc::sequential<input{28, 28}, reshape{28, 28, 1}, conv2d{32, 3, sc::relu}, conv2d{64, 3, sc::relu},
                           max_pooling2d{2}, flatten{}, dropout{0.25}, dense{128, sc::relu}, dropout{0.5}, dense{10}>;

inline constexpr auto training = sc::training{.optimizer = sc::optimizers::adam{},
                                              .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                              .metrics = sc::metrics::accuracy{},
                                              .batch_size = 32};

int main(int argc, char** argv) {
  auto const given = read_arguments(argc, argv, "Trains a small convolutional network on handwritten digits.", 4);
  auto const [train, test] = load_data(given);

  sc::summary<cnn>();
  // Two threads share each step; the results are those of one thread, bit for bit.
  sc::trainer<cnn, training, sc::host<2>> model;
  model.fit(train.x, train.y, {.epochs = given.epochs, .validation_data = test});

  auto const [loss, accuracy] = model.evaluate(test.x, test.y);
  std::printf("test loss %.4f, test accuracy %.4f\n", loss, accuracy);
}
