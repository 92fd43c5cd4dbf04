// SPDX-License-Identifier: BSD-3-Clause
// E4094: a predictor of what is to be trained.
// expect-error: a predictor is given what is no description of an inference
// expect-error: [E4094]
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/predictor.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{128, sc::relu}, dense{10}>;

#ifdef STAGECRAFT_BAD
inline constexpr auto description = sc::training{.batch_size = 64};
#else
inline constexpr auto description = sc::inference{.batch_size = 64};
#endif

auto predict(sc::sample_set const& x) {
  sc::predictor<mlp, description> model;  // <- here
  return model.predict(x);
}
