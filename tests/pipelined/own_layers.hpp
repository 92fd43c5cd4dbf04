// SPDX-License-Identifier: BSD-3-Clause
// Layers of a user's own for random models: two that bring loops, of one input with a weight and of two inputs, and one
// that is written as a `call`.
#pragma once

#include <stagecraft/layers/layer.hpp>
#include <stagecraft/initializers/initializers.hpp>
#include <cstddef>
#include <string_view>

namespace random_runs {

namespace sc = stagecraft;

/// y = x * gain, one gain per column.
struct gain : sc::layer<gain> {
  static constexpr std::string_view class_name = "Gain";
  static constexpr bool backward_uses_output = false;

  [[nodiscard]] constexpr sc::shape output_shape(sc::layer_inputs const& in) const { return in[0]; }
  constexpr void parameters(sc::layer_inputs const& in, sc::parameter_list& weights) const {
    weights.add({.name = "gain", .shape = {in[0].back()}, .initializer = sc::initializers::constant{0.75F}});
  }
  void forward(auto const& call) const {
    auto const x = call.input();
    auto const weight = call.weight();
    for (std::size_t i = 0; i < x.size(); ++i) call.output()[i] = x[i] * weight[i % weight.size()];
  }
  void backward(auto const& call) const {
    auto const x = call.input(), dy = call.output_gradient();
    auto const weight = call.weight();
    for (std::size_t i = 0; i < x.size(); ++i) {
      call.input_gradient()[i] += dy[i] * weight[i % weight.size()];
      call.weight_gradient()[i % weight.size()] += dy[i] * x[i];
    }
  }
};

/// y = x / (1 + |x|), and in training times a random number; written as a `call`.
struct squash : sc::layer<squash> {
  static constexpr std::string_view class_name = "Squash";

  constexpr auto call(auto& ops, auto x) const {
    auto const y = x / (1.0F + abs(x));
    return ops.training() ? y * (0.5F + ops.uniform(x.shape())) : y;
  }
};

/// y = a + a * b / 2; looks at a, b and y.
struct blend : sc::layer<blend> {
  static constexpr std::string_view class_name = "Blend";

  [[nodiscard]] constexpr sc::shape output_shape(sc::layer_inputs const& in) const {
    in.expect_count(2, 2);
    return in[0];
  }
  void forward(auto const& call) const {
    auto const a = call.input(0), b = call.input(1);
    for (std::size_t i = 0; i < a.size(); ++i) call.output()[i] = a[i] + 0.5F * a[i] * b[i];
  }
  void backward(auto const& call) const {
    auto const a = call.input(0), b = call.input(1), dy = call.output_gradient();
    for (std::size_t i = 0; i < a.size(); ++i) {
      call.input_gradient(0)[i] += dy[i] * (1 + 0.5F * b[i]);
      call.input_gradient(1)[i] += dy[i] * 0.5F * a[i];
    }
  }
};

}  // namespace random_runs
