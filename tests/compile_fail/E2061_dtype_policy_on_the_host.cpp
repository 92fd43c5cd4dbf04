// SPDX-License-Identifier: BSD-3-Clause
// E2061: a policy of half precision on the host.
// expect-error: the training's dtype_policy has the compute_dtype float16, but the machine is the host
// expect-error: [E2061]
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{128, sc::relu}, dense{10}>;
inline constexpr auto training = sc::training{.loss = sc::losses::sparse_categorical_crossentropy{},
#ifdef STAGECRAFT_BAD
                                              .dtype_policy = sc::dtype_policies::mixed_float16};
#else
                                              .dtype_policy = sc::dtype_policies::float32};
#endif

using trainer = sc::trainer<mlp, training>;  // <- here
