// SPDX-License-Identifier: BSD-3-Clause
// A model that only predicts: it takes the weights of a trainer, and has a plan and memory of its own, without
// gradients, optimizer or losses. What that saves, and how fast it is on an IPU, is known to the compiler.
#include <stagecraft/ipu.hpp>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>

#include "command_line/command_line.hpp"

namespace sc = stagecraft;
using namespace sc::layers;

using cnn = sc::sequential<input{28, 28}, reshape{28, 28, 1}, conv2d{16, 3, {.use_bias = false}}, batch_normalization{},
                           activation{sc::relu}, max_pooling2d{2}, flatten{}, dense{64, sc::relu}, dense{10}>;

inline constexpr auto training = sc::training{.optimizer = sc::optimizers::adam{},
                                              .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                              .metrics = sc::metrics::accuracy{},
                                              .batch_size = 32};

/// Digits that come one at a time, and many at once.
inline constexpr auto single = sc::inference{.batch_size = 1};
inline constexpr auto many = sc::inference{.batch_size = 32, .steps_per_execution = 8};

inline constexpr auto memory_of_trainer = sc::device_memory_of<cnn, training, 0>;
inline constexpr auto memory_of_predictor = sc::device_memory_of<cnn, single, 0>;
static_assert(memory_of_predictor.on_device() * 3 < memory_of_trainer.on_device());

inline constexpr auto on_ipu = sc::profile<cnn, single, sc::ipu<>>;
static_assert(on_ipu.fits() && on_ipu.latency() < 1e-3 && on_ipu.samples_per_second() > 1000);

int main(int argc, char** argv) {
  auto const given = read_arguments(argc, argv, "Trains a network, and predicts with another plan of it.", 2);
  auto const [train, test] = load_data(given);

  sc::trainer<cnn, training> trained;
  trained.fit(train.x, train.y, {.epochs = given.epochs});

  // The batch normalization becomes a part of the convolution here.
  sc::predictor<cnn, many> of_many;
  of_many.set_weights(trained.get_weights());
  xt::xtensor<float, 2> const logits = of_many.predict(test.x);

  // One digit at a time: nothing is allocated, and the result is the model's own memory until the next call.
  sc::predictor<cnn, single> of_one;
  of_one.set_weights(trained.get_weights());
  std::size_t right = 0;
  float differs = 0;
  for (std::size_t i = 0; i < logits.shape(0); ++i) {
    auto const digit = xt::view(test.x, xt::range(i, i + 1));
    auto const own = of_one(digit);
    std::size_t best = 0;
    for (std::size_t k = 0; k < 10; ++k) {
      if (own(0, k) > own(0, best)) best = k;
      differs = std::max(differs, std::abs(own(0, k) - logits(i, k)));
    }
    right += static_cast<int>(best) == static_cast<int>(test.y(i)) ? 1 : 0;
  }
  std::printf("%.4f of the test's digits are right, one by one; logits differ from those of batches by at most %.1e\n",
              static_cast<double>(right) / static_cast<double>(logits.shape(0)), static_cast<double>(differs));
  std::printf("memory: %lld bytes, where the trainer has %lld\n", memory_of_predictor.on_device(),
              memory_of_trainer.on_device());
  std::printf("on an IPU: %.1f microseconds for one digit, %.0f digits per second\n", on_ipu.latency() * 1e6,
              on_ipu.samples_per_second());
}
