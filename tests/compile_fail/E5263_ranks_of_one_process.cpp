// SPDX-License-Identifier: BSD-3-Clause
// E5263: a plan page of several ranks, of a machine that is one process.
// expect-error: plan_choices.ranks has the value 4, but the machine is one process; give a cluster
// expect-error: [E5263]
#include <stagecraft/description/training.hpp>
#include <stagecraft/mpi/cluster_plan.hpp>
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{16}, dense{10}>;
inline constexpr auto training =
    sc::training{.loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true}, .batch_size = 8};
inline constexpr sc::plan_choices choices{.ipus = {1}, .schedules = {sc::grouped}, .ranks = {1, 4}, .next_best = false};

#ifdef STAGECRAFT_BAD
using machine = sc::ipu_devices<>;
#else
using machine = sc::cluster<sc::ipu_devices<>, sc::ranks{1}, sc::network{.gigabits = 100}>;
#endif

auto plans() {
  return sc::plan_data_of<mlp, training, machine, choices>();  // <- here
}
