// SPDX-License-Identifier: BSD-3-Clause
// E2023: a query names a stage that the model does not have.
// expect-error: model 'sequential' has no pipeline stage 2; it has 2 stages, numbered from 0
// expect-error: [E2023]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{256, sc::relu}, dense{128, sc::relu}, dense{10}>;
using two_stages = sc::pipelined<mlp, sc::stages<0, 0, 1, 1>>;

#ifdef STAGECRAFT_BAD
constexpr int device = sc::device_of<two_stages, 2>;
#else
constexpr int device = sc::device_of<two_stages, 1>;
#endif

static_assert(device >= 0);
