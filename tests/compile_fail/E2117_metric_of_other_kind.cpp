// SPDX-License-Identifier: BSD-3-Clause
// E2117: a metric of counts by thresholds.
// expect-error: a training step reports the metric 'auc' as 'area'; a step computes accuracies and metrics that are a `call`
// expect-error: on rows, by words of its own any others
// expect-error: [E2117]
#include <stagecraft/steps.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct own_step : sc::training_step<own_step, input{4}, input{1}> {
  sc::trained<sc::sequential<input{4}, dense{1}>, "line"> line;
  static constexpr auto optimizer = sc::optimizers::sgd{};
  constexpr void train(auto& step, auto x, auto y) const {
    auto const out = line(x);
    step.minimize(optimizer, step.mean(square(out - y)), weights_of(line));
#ifdef STAGECRAFT_BAD
    step.metric("area", sc::metrics::auc{}, y, out);
#else
    step.metric("error", sc::metrics::mean_squared_error{}, y, out);
#endif
  }
};

using trainer = sc::step_trainer<own_step>;  // <- here
static_assert(sizeof(trainer) > 0);
