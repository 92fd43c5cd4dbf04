// SPDX-License-Identifier: BSD-3-Clause
// E4094: a trainer of what is only to predict.
// expect-error: a trainer is given a description of an inference, which says nothing of a loss and an optimizer
// expect-error: [E4094]
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/predictor.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{128, sc::relu}, dense{10}>;
inline constexpr auto single = sc::inference{.batch_size = 1};

auto predict(sc::sample_set const& x) {
#ifdef STAGECRAFT_BAD
  sc::trainer<mlp, single> model;  // <- here
#else
  sc::predictor<mlp, single> model;
#endif
  return model.predict(x);
}
