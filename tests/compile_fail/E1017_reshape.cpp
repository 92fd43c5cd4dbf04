// SPDX-License-Identifier: BSD-3-Clause
// E1017: a reshape to a shape of another number of elements.
// expect-error: layer 'reshape' cannot give an input of shape (128,) (128 elements) the shape (10, 12)
// expect-error: [E1017]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using mlp = sc::sequential<input{784}, dense{128}, reshape{10, 12}, dense{10}>;  // <- here
#else
using mlp = sc::sequential<input{784}, dense{128}, reshape{8, 16}, dense{10}>;
#endif

using two = sc::pipelined<mlp, sc::stages<0, 0, 1>>;
static_assert(sc::pipeline_stages<two> == 2);
static_assert(sc::stage_of<two, 3> == 1);
static_assert(sc::calls_of_stage<two, 0>.size() == 2);
static_assert(std::same_as<sc::layer_t<two, 2>, reshape>);
