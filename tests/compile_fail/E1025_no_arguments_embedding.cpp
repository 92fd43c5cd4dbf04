// SPDX-License-Identifier: BSD-3-Clause
// E1025: an embedding without its sizes.
// expect-error: layer Embedding cannot be made from what its braces hold; write embedding{input_dim, output_dim}
// expect-error: [E1025]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using reader = sc::sequential<input{12}, embedding{}, flatten{}, dense{10}>;  // <- here
#else
using reader = sc::sequential<input{12}, embedding{100, 8}, flatten{}, dense{10}>;
#endif

static_assert(sc::call_count<reader> == 4);
