// SPDX-License-Identifier: BSD-3-Clause
// E4095: a predictor is to say how good it is.
// expect-error: evaluate is called on a predictor, which has neither a loss nor an optimizer
// expect-error: [E4095]
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/predictor.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{128, sc::relu}, dense{10}>;
#ifdef STAGECRAFT_BAD
inline constexpr auto description = sc::inference{.batch_size = 64};
using model_type = sc::predictor<mlp, description>;
#else
inline constexpr auto description =
    sc::training{.loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true}, .batch_size = 64};
using model_type = sc::trainer<mlp, description>;
#endif

double loss(model_type& model, sc::sample_set const& x, sc::sample_set const& y) {
  return model.evaluate(x, y, {.verbose = 0})[0];  // <- here
}
