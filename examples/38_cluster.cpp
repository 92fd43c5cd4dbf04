// SPDX-License-Identifier: BSD-3-Clause
// Data parallelism over processes: four replicas of a network on up to four ranks of MPI, on one host or on several.
//     mpirun -n 4 38_cluster        each rank trains one replica
//     mpirun -n 2 38_cluster        each rank trains two
//     38_cluster                    one process trains all four
// All three end with the same weights, to the last bit.
#include <stagecraft/mpi.hpp>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "command_line/command_line.hpp"

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{256, sc::relu}, dense{128, sc::relu}, dense{10}>;

inline constexpr auto training =
    sc::training{.optimizer = sc::optimizers::adam{},
                 .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                 .metrics = sc::metrics::accuracy{},
                 .batch_size = 16,
                 .steps_per_execution = 16,
                 .num_replicas = 4,
                 .cross_replica_reduction = sc::cross_replica_reduction::mean,
                 .replicated_metric_reduction_method = sc::replicated_metric_reduction_method::mean};

// Up to four processes of one thread each. A program for four hosts of eight processors says sc::host<8>.
using machine = sc::cluster<sc::host<1>, sc::ranks{4}>;
static_assert(sc::effective_batch_size<mlp, training, machine> == 64);

int main(int argc, char** argv) {
  auto const given = read_arguments(argc, argv, "Trains four replicas of a network on up to four processes.", 2);
  auto const [train, test] = load_data(given);  // all ranks have all samples; each reads those of its replicas

  sc::trainer<mlp, training, machine> model;
  int const batches_at_once = training.steps_per_execution * model.replicas;
  int const executions = static_cast<int>(train.y.size()) / (training.batch_size * batches_at_once);
  model.fit(train.x, train.y, {.epochs = given.epochs, .steps_per_epoch = executions * batches_at_once});
  auto const [loss, accuracy] = model.evaluate(test.x, test.y, {.verbose = 0});

  std::uint32_t hash = 2166136261U;
  for (auto const& weight : model.get_weights())
    for (float const value : weight.values) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, &value, sizeof bits);
      hash = (hash ^ bits) * 16777619U;
    }
  if (model.rank() == 0)  // no function of the trainer that all ranks call stands here
    std::printf("%d processes: test loss %.4f, test accuracy %.4f, weights %08x\n", model.ranks_here(), loss, accuracy,
                hash);
}
