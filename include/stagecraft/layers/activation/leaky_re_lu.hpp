// SPDX-License-Identifier: BSD-3-Clause
// A rectifier that lets a part of negative values pass: tf.keras.layers.LeakyReLU.
#pragma once

#include <stagecraft/activations/activation.hpp>
#include <stagecraft/graph/wrong_options.hpp>
#include <stagecraft/layers/argument_list.hpp>
#include <stagecraft/layers/layer.hpp>

namespace stagecraft::layers {

/// f(x) = x for x > 0, alpha * x below; alpha is 0.3 by default.
///
/// Shape unchanged, no weights. Errors: E1001; E1060 for an alpha that is not a number.
/// Definition: Keras API, layers/activation_layers/leaky_relu.
struct leaky_re_lu : layer<leaky_re_lu> {
  static constexpr bool supports_masking = true;
  static constexpr std::string_view class_name = "LeakyReLU";
  static constexpr std::string_view usage = "leaky_re_lu{} or leaky_re_lu{alpha}"sv;

  float alpha = 0;
  using arguments = argument_list<&leaky_re_lu::alpha>;

  constexpr leaky_re_lu() : leaky_re_lu(0.3F) {}
  constexpr explicit leaky_re_lu(float alpha_) : alpha(alpha_) {}
  constexpr explicit leaky_re_lu(double alpha_) : leaky_re_lu(static_cast<float>(alpha_)) {}
  constexpr explicit leaky_re_lu(int alpha_) : leaky_re_lu(static_cast<float>(alpha_)) {}

  /// Anything else: E1025.
  using layer::layer;
  template <class L = leaky_re_lu>
  constexpr explicit leaky_re_lu(detail::wrong_options, ...) : leaky_re_lu() {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  [[nodiscard]] constexpr stagecraft::activation function() const { return activations::relu(alpha); }

  constexpr auto call(auto& ops, auto x) const {
    if (!(alpha > -1e6F && alpha < 1e6F)) ops.error(1060, "has an alpha that is far out or not a number");
    return function()(x);
  }
};

}  // namespace stagecraft::layers
