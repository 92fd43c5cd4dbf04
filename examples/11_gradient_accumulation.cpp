// SPDX-License-Identifier: BSD-3-Clause
// Gradient accumulation: the gradients of several batches become one weight update, as if they were one large batch
// for which there need not be memory.
#include <stagecraft/stagecraft.hpp>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>

#include "command_line/command_line.hpp"

namespace sc = stagecraft;
using namespace sc::layers;

// If it were relu, a rounding could decide which side of its corner a number is on; tanh has no corner.
using mlp = sc::sequential<input{28, 28}, flatten{}, dense{256, sc::tanh}, dense{128, sc::tanh}, dense{10}>;

// Ten batches per weight update. An execution is a whole number of updates: of the 768 batches, 760 are used.
inline constexpr int accumulated = 10;
inline constexpr int steps_of_epoch = 768 / accumulated * accumulated;

inline constexpr auto training =
    sc::training{.optimizer = sc::optimizers::sgd{.learning_rate = 0.1F},
                 .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                 .metrics = sc::metrics::accuracy{},
                 .batch_size = 32,
                 .steps_per_execution = steps_of_epoch,
                 .gradient_accumulation = {.gradient_accumulation_steps_per_replica = accumulated,
                                           .reduction_method = sc::gradient_accumulation_reduction_method::mean}};
static_assert(sc::effective_batch_size<mlp, training> == 320);

// The large batch itself. Without `mean`, gradients are added, and ten times the learning rate would be its equal.
inline constexpr auto large_batches = sc::training{.optimizer = training.optimizer,
                                                   .loss = training.loss,
                                                   .metrics = training.metrics,
                                                   .batch_size = 320,
                                                   .steps_per_execution = steps_of_epoch / accumulated};
static_assert(sc::effective_batch_size<mlp, large_batches> == 320);

int main(int argc, char** argv) {
  auto const given = read_arguments(argc, argv, "Accumulates the gradients of ten batches, and takes ten at once.", 2);
  auto const [train, test] = load_data(given);

  // If `steps_per_epoch` were given instead, the next epoch would go on where this one ended, which is another place if
  // batches are larger.
  auto const x = xt::view(train.x, xt::range(0, steps_of_epoch * training.batch_size));
  auto const y = xt::view(train.y, xt::range(0, steps_of_epoch * training.batch_size));

  sc::trainer<mlp, training> model;
  model.fit(x, y, {.epochs = given.epochs});
  sc::trainer<mlp, large_batches> other;
  other.fit(x, y, {.epochs = given.epochs});

  auto const [loss, accuracy] = model.evaluate(test.x, test.y, {.verbose = 0});
  std::printf("test loss %.4f, test accuracy %.4f\n", loss, accuracy);

  // Sums are rounded in another order, and that is all.
  float difference = 0;
  auto const weights = model.get_weights(), other_weights = other.get_weights();
  for (std::size_t i = 0; i < weights.size(); ++i)
    for (std::size_t k = 0; k < weights[i].values.size(); ++k)
      difference = std::max(difference, std::abs(weights[i].values[k] - other_weights[i].values[k]));
  std::printf("weights differ by at most %.1e\n", static_cast<double>(difference));
}
