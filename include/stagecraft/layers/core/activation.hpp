// SPDX-License-Identifier: BSD-3-Clause
// An activation function as a layer of its own: tf.keras.layers.Activation.
#pragma once

#include <stagecraft/activations/activation.hpp>
#include <stagecraft/graph/wrong_options.hpp>
#include <stagecraft/layers/layer.hpp>

namespace stagecraft::layers {

/// Applies an activation: `activation{sc::relu}`. Shape unchanged, no weights, about one FLOP per element.
/// Definition: Keras API, layers/core_layers/activation.
struct activation : layer<activation> {
  static constexpr bool supports_masking = true;
  static constexpr std::string_view class_name = "Activation";
  static constexpr std::string_view usage = "activation{sc::relu}"sv;
  static constexpr bool is_activation = true;

  stagecraft::activation function = linear;
  using arguments = argument_list<&activation::function>;

  constexpr explicit activation(stagecraft::activation function_) : function(function_) {}

  using layer::layer;
  /// No argument, or any other: E1025.
  template <class L = activation>
  constexpr explicit activation(detail::wrong_options = {}, detail::wrong_options = {}, detail::wrong_options = {},
                                detail::wrong_options = {})
      : activation(linear) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  [[nodiscard]] constexpr detail::rules_key rules_key() const {
    auto const bits = [](float number) { return __builtin_bit_cast(unsigned, number); };
    return {{static_cast<unsigned>(function.kind), bits(function.alpha), bits(function.max_value),
             bits(function.threshold)},
            function.kind != activation_kind::own};
  }
  constexpr auto call(auto&, auto x) const { return function(x); }
};

}  // namespace stagecraft::layers
