// SPDX-License-Identifier: BSD-3-Clause
// E2117: a metric of values is given class numbers.
// expect-error: a training step reports the metric 'top_k_categorical_accuracy' as 'top', whose targets are values, and gives it
// expect-error: class numbers
// expect-error: [E2117]
#include <stagecraft/steps.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct own_step : sc::training_step<own_step, input{4}, input{1}> {
  sc::trained<sc::sequential<input{4}, dense{6}>, "net"> net;
  static constexpr auto optimizer = sc::optimizers::sgd{};
  constexpr void train(auto& step, auto x, auto y) const {
    auto const out = net(x);
    step.minimize(optimizer, step.loss(sc::losses::sparse_categorical_crossentropy{.from_logits = true}, y, out),
                  weights_of(net));
#ifdef STAGECRAFT_BAD
    step.metric("top", sc::metrics::top_k_categorical_accuracy{.k = 2}, y, out);
#else
    step.metric("top", sc::metrics::sparse_top_k_categorical_accuracy{.k = 2}, y, out);
#endif
  }
};

using trainer = sc::step_trainer<own_step>;  // <- here
static_assert(sizeof(trainer) > 0);
