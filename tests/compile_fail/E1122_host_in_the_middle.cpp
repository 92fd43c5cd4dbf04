// SPDX-License-Identifier: BSD-3-Clause
// E1122: the host carries out a layer between others that are on IPUs.
// expect-error: layer 'dense_1' is carried out by the host, between 'dense_2' and layers before it, which are on IPUs
// expect-error: [E1122]
#include <stagecraft/ipu.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using mlp = sc::sequential<input{784}, dense{128, sc::relu}, dense{64, sc::relu}.on_host(), dense{10}>;
#else
using mlp = sc::sequential<input{784}, dense{128, sc::relu}, dense{64, sc::relu}.on_host(), dense{10}.on_host()>;
#endif
inline constexpr auto inference = sc::inference{.batch_size = 4};

using predictor = sc::predictor<mlp, inference, sc::ipu<>>;  // <- here
