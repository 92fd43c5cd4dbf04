// SPDX-License-Identifier: BSD-3-Clause
// A model in two pipeline stages, with gradients of 16 micro-batches per weight update, 128 steps at a time. The
// compiler checks the assignment and the numbers of steps; two threads of the host carry out a stage each.
#include <stagecraft/stagecraft.hpp>
#include <cstdio>

#include "command_line/command_line.hpp"

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{256, sc::relu}, dense{128, sc::relu}, dense{10}>;
using two_stages = sc::pipelined<mlp, sc::stages<0, 0, 1, 1>>;
static_assert(sc::pipeline_stages<two_stages> == 2);
static_assert(sc::stage_of<two_stages, sc::find_call<two_stages>("dense_1")> == 1);

inline constexpr auto training =
    sc::training{.optimizer = sc::optimizers::rmsprop{},
                 .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                 .metrics = sc::metrics::accuracy{},
                 .batch_size = 32,
                 .steps_per_execution = 128,
                 .pipeline = {.gradient_accumulation_steps_per_replica = 16, .schedule = sc::interleaved}};

using machine = sc::host<2>;

int main(int argc, char** argv) {
  auto const given = read_arguments(argc, argv, "Trains a perceptron in two pipeline stages.", 8);
  auto const [train, test] = load_data(given);
  sc::print_pipeline_stage_assignment_summary<two_stages>();

  // An epoch is a whole number of executions: 4,096 samples each, and what is left over waits for another epoch.
  int const executions = static_cast<int>(train.y.size()) / (training.batch_size * training.steps_per_execution);
  sc::trainer<two_stages, training, machine> model;
  model.fit(
      train.x, train.y,
      {.epochs = given.epochs, .validation_data = test, .steps_per_epoch = executions * training.steps_per_execution});
  auto const [loss, accuracy] = model.evaluate(test.x, test.y, {.verbose = 0});
  std::printf("test loss %.4f, test accuracy %.4f\n", loss, accuracy);
}
