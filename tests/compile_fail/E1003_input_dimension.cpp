// SPDX-License-Identifier: BSD-3-Clause
// E1003: a dimension of an input is below 1.
// expect-error: input has shape (28, 0), but each dimension must be at least 1
// expect-error: [E1003]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using mlp = sc::sequential<input{28, 0}, flatten{}, dense{10}>;  // <- here
#else
using mlp = sc::sequential<input{28, 28}, flatten{}, dense{10}>;
#endif

static_assert(sc::call_count<mlp> == 3);
static_assert(std::same_as<sc::layer_t<mlp, 1>, flatten>);
