// SPDX-License-Identifier: BSD-3-Clause
// E2061: a policy of bfloat16 on emulated IPUs.
// expect-error: the training's dtype_policy has the compute_dtype bfloat16, which IPUs do not have
// expect-error: [E2061]
#include <stagecraft/ipu.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{128, sc::relu}, dense{10}>;
inline constexpr auto training = sc::training{.loss = sc::losses::sparse_categorical_crossentropy{},
#ifdef STAGECRAFT_BAD
                                              .dtype_policy = sc::dtype_policies::mixed_bfloat16};
#else
                                              .dtype_policy = sc::dtype_policies::mixed_float16};
#endif

using trainer = sc::trainer<mlp, training, sc::ipu<>>;  // <- here
