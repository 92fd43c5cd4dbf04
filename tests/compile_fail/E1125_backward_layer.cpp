// SPDX-License-Identifier: BSD-3-Clause
// E1125: a backward_layer that runs forward.
// expect-error: layer 'bidirectional' has two layers that run in one direction
// expect-error: go_backwards of the backward_layer must be the other
// expect-error: [E1125]
// most-characters: 5000 (GCC: it prints the arguments of the alias `sequential` once, three recurrent layers in them)
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using net = sc::sequential<input{6, 2}, bidirectional{lstm{4}, lstm{2}}>;  // <- here
#else
using net = sc::sequential<input{6, 2}, bidirectional{lstm{4}, lstm{2, {.go_backwards = true}}}>;
#endif
static_assert(sc::call_count<net> == 2);
