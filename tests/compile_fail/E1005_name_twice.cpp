// SPDX-License-Identifier: BSD-3-Clause
// E1005: two layers of a model have the same name.
//
// Names stand for layers in messages, summaries and saved weights, so each is used once. Rename one layer. Where
// the same weights are meant, make one layer a variable and call it twice.
//
// expect-error: layer name 'hidden' is used twice
// expect-error: [E1005]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using mlp = sc::sequential<input{16}, dense{8}.named("hidden"), dense{8}.named("hidden"), dense{1}>;
#else
using mlp = sc::sequential<input{16}, dense{8}.named("hidden_1"), dense{8}.named("hidden_2"), dense{1}>;
#endif

static_assert(sc::call_count<mlp> == 4);
