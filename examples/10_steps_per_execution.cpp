// SPDX-License-Identifier: BSD-3-Clause
// Many steps in one execution. Between two executions callbacks and the progress bar have their turn, and the weights
// can be read; within one, nothing but training happens. The weights are the same in the end.
#include <stagecraft/stagecraft.hpp>
#include <cstdio>

#include "command_line/command_line.hpp"

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{256, sc::relu}, dense{128, sc::relu}, dense{10}>;

/// The greater `Steps` is, the less time is spent between steps; at best it is an epoch.
template <int Steps>
inline constexpr auto training = sc::training{.optimizer = sc::optimizers::rmsprop{},
                                              .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                              .metrics = sc::metrics::accuracy{},
                                              .batch_size = 32,
                                              .steps_per_execution = Steps};

// The built-in digits are 768 batches.
inline constexpr int steps_of_epoch = 768;

class count_calls : public sc::callback {
 public:
  int calls = 0;

  void on_train_batch_end(int, sc::logs&) override { ++calls; }
};

int main(int argc, char** argv) {
  auto const given = read_arguments(argc, argv, "Trains with 768 steps in one execution, and with one.", 2);
  auto const [train, test] = load_data(given);

  sc::trainer<mlp, training<steps_of_epoch>> at_once;
  sc::trainer<mlp, training<1>> one_by_one;
  count_calls calls_at_once, calls_one_by_one;
  at_once.fit(train.x, train.y,
              {.epochs = given.epochs, .callbacks = {&calls_at_once}, .steps_per_epoch = steps_of_epoch});
  one_by_one.fit(train.x, train.y,
                 {.epochs = given.epochs, .callbacks = {&calls_one_by_one}, .steps_per_epoch = steps_of_epoch});

  auto const [loss, accuracy] = at_once.evaluate(test.x, test.y, {.verbose = 0});
  std::printf("test loss %.4f, test accuracy %.4f\n", loss, accuracy);
  std::printf("callbacks were called %d and %d times; the weights are %s\n", calls_at_once.calls,
              calls_one_by_one.calls, at_once.get_weights() == one_by_one.get_weights() ? "the same" : "different");
}
