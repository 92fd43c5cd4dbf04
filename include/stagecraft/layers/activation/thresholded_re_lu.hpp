// SPDX-License-Identifier: BSD-3-Clause
// A rectifier with a threshold: tf.keras.layers.ThresholdedReLU.
#pragma once

#include <stagecraft/activations/activation.hpp>
#include <stagecraft/graph/wrong_options.hpp>
#include <stagecraft/layers/argument_list.hpp>
#include <stagecraft/layers/layer.hpp>

namespace stagecraft::layers {

/// f(x) = x for x > theta, 0 otherwise; theta is 1 by default.
///
/// Shape unchanged, no weights. Errors: E1001; E1060 for a negative theta.
/// Definition: Keras API, layers/activation_layers/threshold_relu.
struct thresholded_re_lu : layer<thresholded_re_lu> {
  static constexpr bool supports_masking = true;
  static constexpr std::string_view class_name = "ThresholdedReLU";
  static constexpr std::string_view usage = "thresholded_re_lu{} or thresholded_re_lu{theta}"sv;

  float theta = 0;
  using arguments = argument_list<&thresholded_re_lu::theta>;

  constexpr thresholded_re_lu() : thresholded_re_lu(1.0F) {}
  constexpr explicit thresholded_re_lu(float theta_) : theta(theta_) {}
  constexpr explicit thresholded_re_lu(double theta_) : thresholded_re_lu(static_cast<float>(theta_)) {}
  constexpr explicit thresholded_re_lu(int theta_) : thresholded_re_lu(static_cast<float>(theta_)) {}

  /// Anything else: E1025.
  using layer::layer;
  template <class L = thresholded_re_lu>
  constexpr explicit thresholded_re_lu(detail::wrong_options, ...) : thresholded_re_lu() {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  [[nodiscard]] constexpr stagecraft::activation function() const { return activations::relu(0, -1, theta); }

  constexpr auto call(auto& ops, auto x) const {
    if (!(theta >= 0.0F && theta < 1e30F)) ops.error(1060, "has a theta that is negative or not a number");
    return function()(x);
  }
};

}  // namespace stagecraft::layers
