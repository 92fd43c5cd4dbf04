// SPDX-License-Identifier: BSD-3-Clause
// A layer that the library does not know: its shape rule, its weights, and what it computes. It works like a built-in
// one, in all kinds of model.
#include <stagecraft/stagecraft.hpp>
#include <cstdio>

#include "command_line/command_line.hpp"

namespace sc = stagecraft;
using namespace sc::layers;

/// Multiplies each column by a weight that is learnt: y = x * scale.
struct scale : sc::layer<scale> {
  static constexpr std::string_view class_name = "Scale";
  static constexpr bool backward_uses_output = false;  // so that its memory is free earlier

  constexpr sc::shape output_shape(sc::layer_inputs const& in) const { return in[0]; }
  constexpr void parameters(sc::layer_inputs const& in, sc::parameter_list& weights) const {
    weights.add({.name = "scale", .shape = {in[0].back()}, .initializer = sc::initializers::ones{}});
  }
  constexpr long long flops(sc::layer_inputs const& in) const { return in[0].size(); }

  void forward(auto const& call) const {
    auto const x = call.input();
    auto const weight = call.weight();
    auto const y = call.output();
    for (std::size_t i = 0; i < x.size(); ++i) y[i] = x[i] * weight[i % weight.size()];
  }
  void backward(auto const& call) const {
    auto const x = call.input();
    auto const weight = call.weight();
    auto const dy = call.output_gradient();
    auto const dx = call.input_gradient();
    auto const dweight = call.weight_gradient();
    for (std::size_t i = 0; i < x.size(); ++i) {
      dx[i] += dy[i] * weight[i % weight.size()];
      dweight[i % weight.size()] += dy[i] * x[i];
    }
  }
};

using mlp =
    sc::sequential<input{28, 28}, flatten{}, scale{}, dense{128, sc::relu}, scale{}.named("second_scale"), dense{10}>;

inline constexpr auto training =
    sc::training{.optimizer = sc::optimizers::sgd{.learning_rate = 0.1F, .momentum = 0.9F, .nesterov = true},
                 .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                 .metrics = sc::metrics::accuracy{},
                 .batch_size = 64};

int main(int argc, char** argv) {
  auto const given = read_arguments(argc, argv, "Trains a perceptron with a layer of the user's own.", 3);
  auto const [train, test] = load_data(given);
  sc::summary<mlp>();
  sc::trainer<mlp, training> model;
  model.fit(train.x, train.y, {.epochs = given.epochs, .validation_data = test});
  auto const weights = model.weight<"second_scale/scale">();
  std::printf("the first column is scaled by %.4f, the last by %.4f\n", weights(0), weights(127));
}
