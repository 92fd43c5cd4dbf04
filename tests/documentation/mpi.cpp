// SPDX-License-Identifier: BSD-3-Clause
// The snippets of docs/machines.md: they compile as they stand there (tests/architecture/snippets.py compares them).
#include <stagecraft/io/backup_and_restore.hpp>
#include <stagecraft/ipu.hpp>
#include <stagecraft/mpi.hpp>
#include <stagecraft/mpi/cluster_profile.hpp>
#include <stagecraft/stagecraft.hpp>

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

using network = sc::sequential<input{4}, dense{8, sc::relu}, dense{3}>;
xt::xtensor<float, 2> const x = xt::zeros<float>({64, 4});
xt::xtensor<int, 1> const y = xt::zeros<int>({64});

inline constexpr auto training = sc::training{.optimizer = sc::optimizers::adam{},
                                              .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                              .batch_size = 16,
                                              .num_replicas = 4};
using machine = sc::cluster<sc::host<2>, sc::ranks{4}>;  // up to four processes of two threads each

inline constexpr auto of_sixteen = [] {
  auto result = training;
  result.num_replicas = 16;
  return result;
}();

using rack = sc::cluster<sc::ipu<>, sc::ranks{16}, sc::network{.gigabits = 100, .latency_us = 2}>;
inline constexpr auto priced = sc::profile<network, of_sixteen, rack>;
static_assert(priced.seconds() < 2e-4);
static_assert(priced.efficiency() < priced.efficiency({.by = sc::gradient_sums::halving}));

int main() {
  sc::trainer<network, training, machine> model;
  model.fit(x, y, {.epochs = 2});
}

using in_stages = sc::pipelined<network, sc::stages<0, 1>>;
inline constexpr auto of_stages = sc::training{.optimizer = sc::optimizers::adam{},
                                               .loss = training.loss,
                                               .batch_size = 16,
                                               .steps_per_execution = 4,
                                               .pipeline = {.gradient_accumulation_steps_per_replica = 4}};
sc::trainer<in_stages, of_stages, sc::cluster<sc::host<1>, sc::ranks{2}>> pipelined;  // mpirun -n 2 ./program

void go_on() {
  sc::trainer<network, training, machine> model;
  sc::callbacks::backup_and_restore backup(model, "backup");  // the first rank reads it, all go on from there
  model.fit(x, y, {.epochs = 50, .callbacks = {&backup}, .initial_epoch = backup.initial_epoch()});
}

struct samples {
  xt::xtensor<float, 2> x;
  xt::xtensor<int, 1> y;
};
samples read_all_of(char const*) { return {x, y}; }

void fit_scattered() {
  sc::trainer<network, training, machine> model;

  auto const train = model.rank() == 0 ? read_all_of("train.npz") : samples{};  // on the first host's disk
  auto const x = model.scattered(train.x), y = model.scattered(train.y);        // all ranks call it
  model.fit(x, y, {.epochs = 10, .validation_split = 0.1});
}

inline constexpr auto infers = sc::inference{.batch_size = 16, .steps_per_execution = 4};
void predict_on_ranks(std::vector<sc::weight_array> const& weights) {
  sc::predictor<in_stages, infers, sc::cluster<sc::host<1>, sc::ranks{2}>> model;
  if (model.rank() == 0) model.set_weights(weights);  // or load
  auto const outputs = model.predict(x);              // all ranks call it, and all get the outputs
}
