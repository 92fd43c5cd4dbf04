// SPDX-License-Identifier: BSD-3-Clause
// E3022: stages are to be chosen by what layers cost, for a machine that is no IPU.
// expect-error: auto_pipeline chooses stages by what layers cost on IPUs, and is given another machine; name one such
// expect-error: or use sc::even_pipeline<model, 2>
// expect-error: [E3022]
#include <stagecraft/description/training.hpp>
#include <stagecraft/host/host.hpp>
#include <stagecraft/ipu/profile/auto_pipeline.hpp>
#include <stagecraft/machines/ipu_devices.hpp>
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{16}, dense{16, sc::relu}, dense{16, sc::relu}, dense{4}>;
inline constexpr sc::training training{.steps_per_execution = 12,
                                       .pipeline = {.gradient_accumulation_steps_per_replica = 12}};

#ifdef STAGECRAFT_BAD
using machine = sc::host<1, 2>;
#else
using machine = sc::ipu_devices<sc::ipu_config{.auto_select_ipus = 2}>;
#endif

using staged = sc::auto_pipeline<mlp, training, machine>;  // <- here
static_assert(sc::pipeline_stages<staged> == 2);
