// SPDX-License-Identifier: BSD-3-Clause
// E2047: a pipeline with more stages than there is room for.
// expect-error: model 'model' has 65 pipeline stages; a pipeline that runs has at most 64
// expect-error: [E2047]
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

template <int Stages>
struct chain : sc::functional<chain<Stages>> {
  static constexpr auto build(auto& model) {
    auto x = model.input(2);
    for (int i = 0; i < Stages; ++i) {
      sc::pipeline_stage stage(model, i);
      x = dense(2)(x);
    }
    return x;
  }
};
inline constexpr auto training =
    sc::training{.steps_per_execution = 8,
                 .pipeline = {.gradient_accumulation_steps_per_replica = 8, .schedule = sc::schedule::sequential}};

#ifdef STAGECRAFT_BAD
using model_type = chain<65>;
#else
using model_type = chain<64>;
#endif

using trainer = sc::trainer<model_type, training>;  // <- here
