// SPDX-License-Identifier: BSD-3-Clause
// E1005: two layers of a model have the same name.
// expect-error: layer name 'hidden' is used twice
// expect-error: [E1005]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using mlp = sc::sequential<input{16}, dense{8}.named("hidden"), dense{8}.named("hidden"), dense{1}>;  // <- here
#else
using mlp = sc::sequential<input{16}, dense{8}.named("hidden_1"), dense{8}.named("hidden_2"), dense{1}>;
#endif

static_assert(sc::call_count<mlp> == 4);
