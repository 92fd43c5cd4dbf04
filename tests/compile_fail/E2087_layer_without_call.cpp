// SPDX-License-Identifier: BSD-3-Clause
// E2087: a model of a training step has a layer with loops of its own.
// expect-error: layer 'twice' of model 'sequential' has loops of its own in place of a `call`, which a training step traces
// expect-error: [E2087]
#include <stagecraft/steps.hpp>
#include <cstddef>

namespace sc = stagecraft;
using namespace sc::layers;

struct twice : sc::layer<twice> {
  static constexpr std::string_view class_name = "Twice";
#ifdef STAGECRAFT_BAD
  constexpr sc::shape output_shape(sc::layer_inputs const& in) const { return in[0]; }
  void forward(auto const& call) const {
    for (std::size_t i = 0; i < call.output().size(); ++i) call.output()[i] = 2 * call.input()[i];
  }
  void backward(auto const& call) const {
    for (std::size_t i = 0; i < call.output().size(); ++i) call.input_gradient()[i] += 2 * call.output_gradient()[i];
  }
#else
  constexpr auto call(auto&, auto x) const { return x * 2; }
#endif
};

struct own_step : sc::training_step<own_step, input{4}, input{1}> {
  sc::trained<sc::sequential<input{4}, twice{}, dense{1}>> line;
  static constexpr auto optimizer = sc::optimizers::sgd{};
  constexpr void train(auto& step, auto x, auto y) const {
    step.minimize(optimizer, step.mean(square(line(x) - y)), weights_of(line));
  }
};

using trainer = sc::step_trainer<own_step>;  // <- here
static_assert(sizeof(trainer) > 0);
