// SPDX-License-Identifier: BSD-3-Clause
// E2048: a layer that changes its weights in forward steps is called in two stages.
// expect-error: layer 'batch_normalization' is called in pipeline stages 0 and 1, and its forward step changes
// expect-error: its weight 'moving_mean'
// expect-error: call it in one stage
// expect-error: [E2048]
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

template <int Second>
struct two_calls : sc::functional<two_calls<Second>> {
  static constexpr auto build(auto& model) {
    auto x = model.input(8);
    batch_normalization shared;
    {
      sc::pipeline_stage stage(model, 0);
      x = shared(x);
    }
    {
      sc::pipeline_stage stage(model, Second);
      x = shared(x);
    }
    sc::pipeline_stage stage(model, 1);
    return dense(2)(x);
  }
};
inline constexpr auto same_stages = [](auto&) {};
inline constexpr auto training =
    sc::training{.steps_per_execution = 8, .pipeline = {.gradient_accumulation_steps_per_replica = 8}};

#ifdef STAGECRAFT_BAD
using model_type = sc::pipelined<two_calls<1>, same_stages, sc::device_mapping<0, 0>>;
#else
using model_type = sc::pipelined<two_calls<0>, same_stages, sc::device_mapping<0, 0>>;
#endif

using trainer = sc::trainer<model_type, training>;  // <- here
