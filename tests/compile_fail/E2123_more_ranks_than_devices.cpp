// SPDX-License-Identifier: BSD-3-Clause
// E2123: more ranks than the replicas of a model have devices.
// expect-error: a model on 2 devices, with .num_replicas = 1, is trained on a cluster of 4 ranks, of which some would
// expect-error: have no stage; name at most as many ranks as its replicas have devices
// expect-error: [E2123]
#include <stagecraft/mpi/placement.hpp>
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{128, sc::relu}, dense{10}>;
using staged = sc::pipelined<mlp, sc::stages<0, 0, 1>>;
inline constexpr auto training = sc::training{.loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                              .steps_per_execution = 4,
                                              .pipeline = {.gradient_accumulation_steps_per_replica = 4}};

#ifdef STAGECRAFT_BAD
using machine = sc::cluster<sc::host<1>, sc::ranks{4}>;
#else
using machine = sc::cluster<sc::host<1>, sc::ranks{2}>;
#endif

using trainer = sc::trainer<staged, training, machine>;  // <- here
