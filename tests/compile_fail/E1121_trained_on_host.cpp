// SPDX-License-Identifier: BSD-3-Clause
// E1121: the host carries out a layer of a model that is trained on IPUs.
// expect-error: layer 'dense_1' is carried out by the host, but the model is trained on IPUs; on_host() is for predictors
// expect-error: [E1121]
#include <stagecraft/ipu.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using mlp = sc::sequential<input{28, 28}, flatten{}, dense{128, sc::relu}, dense{10}.on_host()>;
#else
using mlp = sc::sequential<input{28, 28}, flatten{}, dense{128, sc::relu}, dense{10}>;
#endif
inline constexpr auto training = sc::training{.loss = sc::losses::sparse_categorical_crossentropy{}};

using trainer = sc::trainer<mlp, training, sc::ipu<>>;  // <- here
