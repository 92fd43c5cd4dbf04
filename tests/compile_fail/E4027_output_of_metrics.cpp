// SPDX-License-Identifier: BSD-3-Clause
// E4027: metrics for an output that the model does not have.
// expect-error: the training's weighted_metrics are for an output 'pace', but the outputs of model 'model' are 'age', 'place'
// expect-error: [E4027]
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct two_heads : sc::functional<two_heads> {
  static constexpr auto build(auto& model) {
    auto x = model.input(16);
    return sc::outputs(dense{1, {.name = "age"}}(x), dense{4, {.name = "place"}}(x));
  }
};

#ifdef STAGECRAFT_BAD
inline constexpr auto training = sc::training{
    .weighted_metrics = sc::metrics::per_output({"pace", sc::metrics::mae{}})};
#else
inline constexpr auto training = sc::training{
    .weighted_metrics = sc::metrics::per_output({"place", sc::metrics::mae{}})};
#endif

using trainer = sc::trainer<two_heads, training>;  // <- here
static_assert(sizeof(trainer) > 0);
