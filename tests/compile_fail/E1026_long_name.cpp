// SPDX-License-Identifier: BSD-3-Clause
// E1026: a layer's name has more characters than the library keeps.
// expect-error: layer name 'encoder_block_number_one_self_attention_project...' has more than 47 characters
// expect-error: [E1026]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using mlp =
    sc::sequential<input{16}, dense{8}.named("encoder_block_number_one_self_attention_projection_query")>;  // <- here
#else
using mlp = sc::sequential<input{16}, dense{8}.named("encoder_1_self_attention_query")>;
#endif

static_assert(sc::call_count<mlp> == 2);
