// SPDX-License-Identifier: BSD-3-Clause
// E2009: the device mapping does not name a device for each stage.
// expect-error: the device mapping has 3 entries, but the model has 2 pipeline stages; each stage is mapped to a device
// expect-error: [E2009]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{256, sc::relu}, dense{128, sc::relu}, dense{10}>;

#ifdef STAGECRAFT_BAD
using two_stages = sc::pipelined<mlp, sc::stages<0, 0, 1, 1>, sc::device_mapping<0, 1, 0>>;  // <- here
#else
using two_stages = sc::pipelined<mlp, sc::stages<0, 0, 1, 1>, sc::device_mapping<1, 0>>;
#endif

static_assert(sc::pipeline_stages<two_stages> == 2);
static_assert(sc::stage_of<two_stages, 4> == 1);
static_assert(sc::calls_of_stage<two_stages, 1>.size() == 2);
static_assert(sc::device_of<two_stages, 0> == 1);
