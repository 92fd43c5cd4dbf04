// SPDX-License-Identifier: BSD-3-Clause
// Data parallelism: a model in two stages on a machine with four devices is there twice. Each replica takes batches of
// its own, and once per weight update their gradients become one.
#include <stagecraft/stagecraft.hpp>
#include <cstdio>

#include "command_line/command_line.hpp"

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{256, sc::relu}, dense{128, sc::relu}, dense{10}>;
using two_stages = sc::pipelined<mlp, sc::stages<0, 0, 1, 1>>;

inline constexpr auto training =
    sc::training{.optimizer = sc::optimizers::sgd{.learning_rate = 0.1F},
                 .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                 .metrics = sc::metrics::accuracy{},
                 .batch_size = 16,
                 .steps_per_execution = 128,
                 .pipeline = {.gradient_accumulation_steps_per_replica = 4,
                              .reduction_method = sc::gradient_accumulation_reduction_method::mean},
                 .cross_replica_reduction = sc::cross_replica_reduction::mean,
                 .replicated_metric_reduction_method = sc::replicated_metric_reduction_method::list};

// Four devices, carried out by two threads. `.num_replicas` of the training would say how many replicas there are.
using machine = sc::host<2, 4>;
static_assert(sc::replicas_of<two_stages, training, machine> == 2);
static_assert(sc::effective_batch_size<two_stages, training, machine> == 16 * 4 * 2);
static_assert(sc::effective_batch_size<two_stages, training, sc::host<2, 8>> == 16 * 4 * 4);

int main(int argc, char** argv) {
  auto const given = read_arguments(argc, argv, "Trains two replicas of a model in two pipeline stages.", 4);
  auto const [train, test] = load_data(given);

  // An execution has steps_per_execution steps of each replica; steps_per_epoch counts the batches of all.
  sc::trainer<two_stages, training, machine> model;
  int const batches_at_once = training.steps_per_execution * model.replicas;
  int const executions = static_cast<int>(train.y.size()) / (training.batch_size * batches_at_once);
  model.fit(train.x, train.y, {.epochs = given.epochs, .steps_per_epoch = executions * batches_at_once});
  auto const [loss, accuracy] = model.evaluate(test.x, test.y, {.verbose = 0});
  for (int replica = 0; replica < model.replicas; ++replica)
    std::printf("replica %d: test loss %.4f, test accuracy %.4f\n", replica, loss[replica], accuracy[replica]);
}
