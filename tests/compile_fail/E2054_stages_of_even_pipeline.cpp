// SPDX-License-Identifier: BSD-3-Clause
// E2054: a model cannot be divided into so many stages.
// expect-error: even_pipeline is to divide model 'sequential' into 5 stages, but it has 4 parts that can be apart
// expect-error: [E2054]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{256, sc::relu}, dense{128, sc::relu}, dense{10}>;

#ifdef STAGECRAFT_BAD
using staged = sc::even_pipeline<mlp, 5>;  // <- here
#else
using staged = sc::even_pipeline<mlp, 4>;
#endif

static_assert(sc::pipeline_stages<staged> == 4);
static_assert(sc::stage_of<staged, 4> == 3);
