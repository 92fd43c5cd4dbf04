// SPDX-License-Identifier: BSD-3-Clause
// E5020: weights are to be saved, and what writes files is not included.
// expect-error: save_weights is called, and what reads and writes files is not included
// expect-error: [E5020]
#ifndef STAGECRAFT_BAD
#include <stagecraft/io/weights.hpp>
#endif
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/predictor.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{128, sc::relu}, dense{10}>;
inline constexpr auto inference = sc::inference{.batch_size = 64};

void save(sc::predictor<mlp, inference> const& model) { model.save_weights("w.safetensors"); }  // <- here
