// SPDX-License-Identifier: BSD-3-Clause
// E1201: weights of a training step that takes gradients itself.
// expect-error: weights are shared with a training step that is not planned as graphs
// expect-error: copy them with set_weights [E1201]
#include <stagecraft/steps.hpp>
#include <stagecraft/training/shares.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using net = sc::sequential<input{4}, dense{1}>;
struct own_step : sc::training_step<own_step, input{4}> {
  sc::trained<net, "net"> line;
  static constexpr auto optimizer = sc::optimizers::sgd{};
  constexpr void train(auto& step, auto x) const {
#ifdef STAGECRAFT_BAD
    auto const loss = step.mean(square(step.gradient(line(x), x)));
#else
    auto const loss = step.mean(square(line(x)));
#endif
    step.minimize(optimizer, loss, weights_of(line));
    step.metric("error", loss);
  }
};

void share(sc::step_trainer<own_step>& model) {
  sc::predictor<net, sc::inference{.batch_size = 8}> other{sc::shares<"net">(model)};  // <- here
  other.reset_states();
}
