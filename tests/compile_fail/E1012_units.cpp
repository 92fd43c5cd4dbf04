// SPDX-License-Identifier: BSD-3-Clause
// E1012: a dense layer has no units.
// expect-error: layer 'dense_1' has 0 units; it needs at least 1
// expect-error: [E1012]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using mlp = sc::sequential<input{28, 28}, flatten{}, dense{128, sc::relu}, dense{0}>;  // <- here
#else
using mlp = sc::sequential<input{28, 28}, flatten{}, dense{128, sc::relu}, dense{10}>;
#endif

static_assert(sc::call_count<mlp> == 4);
static_assert(sc::layer_of<mlp, 2>.units == 128);
static_assert(sc::count_parameters<mlp>() == 101770);
