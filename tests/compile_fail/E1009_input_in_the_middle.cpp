// SPDX-License-Identifier: BSD-3-Clause
// E1009: an input stands in the middle of a sequential model.
// expect-error: input (16,) stands at position 2 of a sequential model; an input can only be its first entry
// expect-error: [E1009]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using mlp = sc::sequential<input{28, 28}, flatten{}, input{16}, dense{10}>;  // <- here
#else
using mlp = sc::sequential<input{28, 28}, flatten{}, dense{16}, dense{10}>;
#endif

static_assert(std::same_as<sc::layer_t<mlp, 1>, flatten>);
