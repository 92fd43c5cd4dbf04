// SPDX-License-Identifier: BSD-3-Clause
// E1201: a training step takes weights of a trainer; the other way round they are shared.
// expect-error: weights are shared by a training step, whose models have memory of their own
// expect-error: and the others of its models' weights: sc::shares<"model">(step) [E1201]
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
using trainer = sc::trainer<net, sc::training{.loss = sc::losses::mean_squared_error{}}>;

#ifdef STAGECRAFT_BAD
void share(trainer& model) {
  sc::step_trainer<own_step> other{sc::shares(model)};  // <- here
  other.reset_states();
}
#else
void share(sc::step_trainer<own_step>& model) {
  trainer other{sc::shares<"net">(model)};
  other.reset_states();
}
#endif
