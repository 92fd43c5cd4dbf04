// SPDX-License-Identifier: BSD-3-Clause
// E1199: a model is to end at a layer that it does not have.
// expect-error: layer_output<> is asked for 'pool', but model 'sequential' has no layer of this name
// expect-error: its last layer is 'dense' [E1199]
#include <stagecraft/models/fine_tuning.hpp>
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using network = sc::sequential<input{8, 8, 1}, conv2d{4, 3}, flatten{}, dense{10}>;
#ifdef STAGECRAFT_BAD
using features = sc::layer_output<network, "pool">;  // <- here
#else
using features = sc::layer_output<network, "flatten">;
#endif
static_assert(sc::call_count<features> > 0);
