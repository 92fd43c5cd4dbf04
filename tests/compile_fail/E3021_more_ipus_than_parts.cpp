// SPDX-License-Identifier: BSD-3-Clause
// E3021: a model is divided among more IPUs than it has parts.
// expect-error: auto_pipeline is to divide model 'sequential' among at least 4 IPUs, but it does not have as many parts
// expect-error: [E3021]
#include <stagecraft/description/training.hpp>
#include <stagecraft/ipu/profile/auto_pipeline.hpp>
#include <stagecraft/machines/ipu_devices.hpp>
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{16}, dense{16, sc::relu}, dense{16, sc::relu}, dense{4}>;
inline constexpr sc::training training{.steps_per_execution = 12,
                                       .pipeline = {.gradient_accumulation_steps_per_replica = 12}};
using machine = sc::ipu_devices<sc::ipu_config{.auto_select_ipus = 4}>;

#ifdef STAGECRAFT_BAD
using staged = sc::auto_pipeline<mlp, training, machine, sc::auto_pipeline_options{.min_ipus = 4}>;  // <- here
#else
using staged = sc::auto_pipeline<mlp, training, machine, sc::auto_pipeline_options{.min_ipus = 3}>;
#endif
static_assert(sc::graph_of<staged>.order.size() == 3);
