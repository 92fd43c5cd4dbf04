// SPDX-License-Identifier: BSD-3-Clause
// E1199: more layers are removed than a model has.
// expect-error: without_top<> is to remove the last 4 layers of model 'sequential', which has 4, inputs included
// expect-error: at least one is removed, and one layer stays [E1199]
#include <stagecraft/models/fine_tuning.hpp>
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using network = sc::sequential<input{8, 8, 1}, conv2d{4, 3}, flatten{}, dense{10}>;
#ifdef STAGECRAFT_BAD
using features = sc::without_top<network, 4>;  // <- here
#else
using features = sc::without_top<network, 2>;
#endif
static_assert(sc::call_count<features> > 0);
