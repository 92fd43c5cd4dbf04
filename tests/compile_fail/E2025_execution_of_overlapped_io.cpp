// SPDX-License-Identifier: BSD-3-Clause
// E2025: an execution of too few micro-batches for I/O tiles that receive one and send the results of another.
// expect-error: the inference has steps_per_execution 2, but in predict the grouped schedule of 2
// expect-error: stages works on 2 micro-batches at once, while I/O tiles receive one and send the
// expect-error: results of one; it must be at least 4
// expect-error: [E2025]
#include <stagecraft/ipu/profile/profile.hpp>
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{128, sc::relu}, dense{10}>;
using two_stages = sc::pipelined<mlp, sc::stages<0, 0, 1>>;
using machine = sc::ipu_devices<sc::ipu_config{.auto_select_ipus = 2,
                                               .io_tiles = {.num_io_tiles = 32, .place_ops_on_io_tiles = true}}>;

#ifdef STAGECRAFT_BAD
inline constexpr auto description = sc::inference{.steps_per_execution = 2};
#else
inline constexpr auto description = sc::inference{.steps_per_execution = 5};
#endif

static_assert(sc::profile<two_stages, description, machine>.fits());  // <- here
