// SPDX-License-Identifier: BSD-3-Clause
// E3010: a model needs more memory than the tiles of an IPU have.
// expect-error: stage 1 of model 'sequential' on IPU 1: tile 0 needs
// expect-error: in layer 'dense_1', but has 638976; most of it:
// expect-error: [E3010]
#include <stagecraft/description/training.hpp>
#include <stagecraft/ipu/profile/profile.hpp>
#include <stagecraft/machines/ipu_devices.hpp>
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using machine = sc::ipu_devices<sc::ipu_config{.auto_select_ipus = 2}>;
inline constexpr auto training = sc::training{.optimizer = sc::optimizers::adam{},
                                              .steps_per_execution = 8,
                                              .pipeline = {.gradient_accumulation_steps_per_replica = 8}};

#ifdef STAGECRAFT_BAD
inline constexpr int units = 40'000;
#else
inline constexpr int units = 1'000;
#endif
using mlp = sc::sequential<input{256}, dense{2048, sc::relu}, dense{units}>;
using two_stages = sc::pipelined<mlp, sc::stages<0, 1>>;

static_assert(sc::profile<two_stages, training, machine>.fits());  // <- here
