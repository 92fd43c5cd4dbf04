// SPDX-License-Identifier: BSD-3-Clause
// E1120: layers of float16 and of bfloat16 in one model.
// expect-error: layer 'dense_1' has dtype bfloat16, but others compute in float16; a model has one type of 16 bits
// expect-error: [E1120]
#include <stagecraft/stagecraft.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{128, sc::relu, {.dtype = sc::dtype::float16}},
#ifdef STAGECRAFT_BAD
                           dense{10, {.dtype = sc::dtype::bfloat16}}>;
#else
                           dense{10, {.dtype = sc::dtype::float32}}>;
#endif
inline constexpr auto inference = sc::inference{.batch_size = 4};

using predictor = sc::predictor<mlp, inference>;  // <- here
