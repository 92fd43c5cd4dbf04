// SPDX-License-Identifier: BSD-3-Clause
// The exponential linear unit as a layer of its own: tf.keras.layers.ELU.
#pragma once

#include <stagecraft/activations/activation.hpp>
#include <stagecraft/graph/wrong_options.hpp>
#include <stagecraft/layers/argument_list.hpp>
#include <stagecraft/layers/layer.hpp>

namespace stagecraft::layers {

/// f(x) = x for x > 0, alpha * (exp(x) - 1) below; alpha is 1 by default. It is not called `elu`, since that is the
/// activation: with alpha 1, `activation{sc::elu}` and `dense{units, sc::elu}` compute the same.
///
/// Shape unchanged, no weights. Errors: E1001; E1060 for an alpha that is not a number.
/// Definition: Keras API, layers/activation_layers/elu.
struct elu_layer : layer<elu_layer> {
  static constexpr bool supports_masking = true;
  static constexpr std::string_view class_name = "ELU";
  static constexpr std::string_view usage = "elu_layer{} or elu_layer{alpha}"sv;

  float alpha = 0;
  using arguments = argument_list<&elu_layer::alpha>;

  constexpr elu_layer() : elu_layer(1.0F) {}
  constexpr explicit elu_layer(float alpha_) : alpha(alpha_) {}
  constexpr explicit elu_layer(double alpha_) : elu_layer(static_cast<float>(alpha_)) {}
  constexpr explicit elu_layer(int alpha_) : elu_layer(static_cast<float>(alpha_)) {}

  /// Anything else: E1025.
  using layer::layer;
  template <class L = elu_layer>
  constexpr explicit elu_layer(detail::wrong_options, ...) : elu_layer() {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  [[nodiscard]] constexpr stagecraft::activation function() const { return activations::elu(alpha); }

  constexpr auto call(auto& ops, auto x) const {
    if (!(alpha > -1e6F && alpha < 1e6F)) ops.error(1060, "has an alpha that is far out or not a number");
    return function()(x);
  }
};

}  // namespace stagecraft::layers
