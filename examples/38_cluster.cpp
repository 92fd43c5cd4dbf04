// SPDX-License-Identifier: BSD-3-Clause
// Data parallelism over processes: four replicas of a network on up to four ranks of MPI, on one host or on several.
//     mpirun -n 4 38_cluster        each rank trains one replica
//     mpirun -n 2 38_cluster        each rank trains two
//     38_cluster                    one process trains all four
//     stagecraft launch -n 4 38_cluster --hosts hosts.txt     passes on to mpirun, on the hosts of a file
// All three end with the same weights, to the last bit. With --model FOLDER, the first process keeps a backup there: a
// training that was killed goes on from it, on any number of processes. What a step costs on a network is a constant.
#include <stagecraft/io/backup_and_restore.hpp>
#include <stagecraft/mpi.hpp>
#include <stagecraft/mpi/cluster_profile.hpp>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <optional>

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

// Four hosts of eight processors, of which each was measured to train at 800 gigaflops, and 25 gigabits a second.
using rack =
    sc::cluster<sc::host<8>, sc::ranks{.count = 4, .gigaflops = 800}, sc::network{.gigabits = 25, .latency_us = 20}>;
inline constexpr auto priced = sc::profile<mlp, training, rack>;
static_assert(priced.exposed_seconds() > priced.work_seconds(), "so small a step waits for the network");

int main(int argc, char** argv) {
  auto const given =
      read_arguments(argc, argv, "Trains four replicas of a network on up to four processes.", 2, data_of_digits,
                     "folder of a backup, from which a training that was killed goes on");
  auto const [train, test] = load_data(given);  // all ranks have all samples; each reads those of its replicas

  sc::trainer<mlp, training, machine> model;
  int const batches_at_once = training.steps_per_execution * model.replicas;
  int const executions = static_cast<int>(train.y.size()) / (training.batch_size * batches_at_once);
  std::optional<sc::callbacks::backup_and_restore> backup;
  sc::fit_options options{.epochs = given.epochs, .steps_per_epoch = executions * batches_at_once};
  if (!given.model.empty()) {
    backup.emplace(model, given.model);
    options.callbacks = {&*backup};
    options.initial_epoch = backup->initial_epoch();
  }
  model.fit(train.x, train.y, options);
  auto const [loss, accuracy] = model.evaluate(test.x, test.y, {.verbose = 0});

  std::uint32_t hash = 2166136261U;
  for (auto const& weight : model.get_weights())
    for (float const value : weight.values) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, &value, sizeof bits);
      hash = (hash ^ bits) * 16777619U;
    }
  if (model.rank() > 0) return 0;  // no function of the trainer that all ranks call stands below
  std::printf("four hosts: %.0f us of work and %.0f us of waiting a step, %lld KB sent by each\n",
              1e6 * priced.work_seconds(), 1e6 * priced.exposed_seconds(),
              static_cast<long long>(priced.bytes_sent(0) / 1000));
  std::printf("%d processes: test loss %.4f, test accuracy %.4f, weights %08x\n", model.ranks_here(), loss, accuracy,
              hash);
}
