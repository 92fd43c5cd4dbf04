// SPDX-License-Identifier: BSD-3-Clause
// E4026: there are not as many lists of metrics as outputs.
// expect-error: the training has metrics for 1 output, but model 'model' has 2 outputs
// expect-error: give one entry for each output in their order, or each with an output's name
// expect-error: [E4026]
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
inline constexpr auto training = sc::training{.metrics = sc::metrics::per_output(sc::metrics::mae{})};
#else
inline constexpr auto training = sc::training{.metrics = sc::metrics::per_output(sc::metrics::mae{}, {})};
#endif

using trainer = sc::trainer<two_heads, training>;  // <- here
static_assert(sizeof(trainer) > 0);
