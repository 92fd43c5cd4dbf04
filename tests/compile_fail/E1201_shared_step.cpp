// SPDX-License-Identifier: BSD-3-Clause
// E1201: a trainer is to learn weights of a training step that takes gradients itself; a predictor has copies of them.
// expect-error: weights are shared by a trainer with a training step that takes gradients itself
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
    auto const loss = step.mean(square(step.gradient(line(x), x)));
    step.minimize(optimizer, loss, weights_of(line));
    step.metric("error", loss);
  }
};

#ifdef STAGECRAFT_BAD
using reader = sc::trainer<net, sc::training{.loss = sc::losses::mean_squared_error{}}>;
#else
using reader = sc::predictor<net, sc::inference{.batch_size = 8}>;
#endif

void share(sc::step_trainer<own_step>& model) {
  reader other{sc::shares<"net">(model)};  // <- here
  other.reset_states();
}
