// SPDX-License-Identifier: BSD-3-Clause
// E2093: gradients as arrays of a training whose updates take several batches.
// expect-error: gradients as arrays are asked of a training with gradient accumulation
// expect-error: with_gradients<> takes one batch for each weight update of one model without these
// expect-error: [E2093]
#include <stagecraft/steps.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using line = sc::sequential<input{4}, dense{1}>;
#ifdef STAGECRAFT_BAD
constexpr int batches = 4;
#else
constexpr int batches = 1;
#endif
inline constexpr auto training =
    sc::training{.loss = sc::losses::mean_squared_error{},
                 .steps_per_execution = batches,
                 .gradient_accumulation = {.gradient_accumulation_steps_per_replica = batches}};

double find(sc::sample_set const& x, sc::sample_set const& y) {
  sc::trainer<line, training, sc::with_gradients<>> model;  // <- here
  return model.gradients(x, y).loss;
}
