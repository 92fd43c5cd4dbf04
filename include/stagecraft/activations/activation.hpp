// SPDX-License-Identifier: BSD-3-Clause
// An activation function as a compile-time value: which function, and its parameters.
// Keras counterpart: tf.keras.activations. Options only, the loops are in kernels/elementwise/activation.hpp.
#pragma once

#include <stagecraft/diagnostics/own_options.hpp>
#include <bit>
#include <string_view>

namespace stagecraft::operations {
struct tensor;
}

namespace stagecraft {

/// The activations of Keras that are values, such as `sc::relu`, by name.
enum class activation_kind : unsigned char {
  linear,
  relu,
  softmax,
  sigmoid,
  tanh,
  gelu,
  gelu_tanh,
  swish,
  selu,
  elu,
  exponential,
  softplus,
  softsign,
  hard_sigmoid,
  own,  ///< the user's: own_activation in activations.hpp
};

/// An activation function. Prefer the ready-made values (`relu`, `softmax`, ...) and the functions of `activations`,
/// which carry Keras's default parameters, to an aggregate written by hand.
///
/// - `relu`: f(x) = min(x, max_value) for x > threshold, alpha * (x - threshold) below it.
/// - `elu`: f(x) = x for x > 0, alpha * (exp(x) - 1) below.
/// - the others have no parameters.
struct activation {
  using own_call = operations::tensor(operations::tensor);
  static constexpr auto own_kind = activation_kind::own;
  static constexpr std::string_view own_name = "activation";
  static constexpr std::string_view own_usage = "constexpr auto call(auto x) const";

  activation_kind kind = activation_kind::linear;
  float alpha = 0;                                ///< relu: slope below the threshold; elu: scale of the negative part
  float max_value = -1;                           ///< relu: the largest output; negative = unlimited (Keras's None)
  float threshold;                                ///< relu: values up to it count as negative
  diagnostics::own_rules<own_call> const* rules;  ///< rules of the user's own activation
  diagnostics::own_options options;               ///< its members

  /// The value of a kind that is not one's own. The last members have no default values, so that GCC does not print
  /// them.
  [[nodiscard]] static constexpr activation of(activation_kind kind, float alpha = 0, float max_value = -1,
                                               float threshold = 0) {
    activation result{};
    result.kind = kind;
    result.alpha = alpha;
    result.max_value = max_value;
    if (std::bit_cast<unsigned>(threshold) != 0) result.threshold = threshold;
    return result;
  }

  friend constexpr bool operator==(activation const&, activation const&) = default;

  /// Applies the function to a tensor of a layer's `call`; softmax along the last axis. Defined in activation_call.hpp.
  [[nodiscard]] constexpr operations::tensor operator()(operations::tensor x) const;
  /// Returns x where only shapes are traced: a layer's activation is not counted among its operations.
  [[nodiscard]] constexpr auto operator()(auto const& x) const
    requires requires { x.mapped(); }
  {
    return x;
  }

  /// Keras's name of the function (`tf.keras.activations.serialize`).
  [[nodiscard]] constexpr std::string_view name() const {
    switch (kind) {
      case activation_kind::linear: return "linear";
      case activation_kind::relu: return "relu";
      case activation_kind::softmax: return "softmax";
      case activation_kind::sigmoid: return "sigmoid";
      case activation_kind::tanh: return "tanh";
      case activation_kind::gelu:
      case activation_kind::gelu_tanh: return "gelu";
      case activation_kind::swish: return "swish";
      case activation_kind::selu: return "selu";
      case activation_kind::elu: return "elu";
      case activation_kind::exponential: return "exponential";
      case activation_kind::softplus: return "softplus";
      case activation_kind::softsign: return "softsign";
      case activation_kind::hard_sigmoid: return "hard_sigmoid";
      case activation_kind::own: return rules->name;
    }
    return "unknown";
  }

  /// True if the backward pass needs x; otherwise it needs y = f(x) only, and f can be applied in place.
  [[nodiscard]] constexpr bool gradient_needs_input() const {
    switch (kind) {
      case activation_kind::gelu:
      case activation_kind::gelu_tanh:
      case activation_kind::swish:
      case activation_kind::hard_sigmoid:
      case activation_kind::own: return true;
      // The output shows on which side x was only for a non-negative slope and no threshold. At x == max_value,
      // TensorFlow's gradient is 0 for relu6 and 1 for every other limit, which the output does not show either.
      case activation_kind::relu: return threshold != 0 || alpha < 0 || (max_value >= 0 && max_value != 6);
      case activation_kind::elu: return alpha < 0;
      default: return false;
    }
  }

  /// True if every output element depends on one input element only.
  [[nodiscard]] constexpr bool elementwise() const { return kind != activation_kind::softmax; }
};

inline constexpr activation linear{};                                      ///< x: no activation, Keras's None
inline constexpr activation relu = activation::of(activation_kind::relu);  ///< max(x, 0)
inline constexpr activation softmax =
    activation::of(activation_kind::softmax);  ///< exp(x - max) / sum of these, over the last axis
inline constexpr activation sigmoid = activation::of(activation_kind::sigmoid);  ///< 1 / (1 + exp(-x))
inline constexpr activation tanh = activation::of(activation_kind::tanh);        ///< the hyperbolic tangent
inline constexpr activation gelu = activation::of(activation_kind::gelu);        ///< x / 2 * (1 + erf(x / sqrt(2)))
inline constexpr activation swish = activation::of(activation_kind::swish);      ///< x * sigmoid(x)
inline constexpr activation selu =
    activation::of(activation_kind::selu);  ///< elu scaled so that layers keep their variance: 1.0507 * elu(x, 1.67326)
inline constexpr activation elu = activation::of(activation_kind::elu, 1.0F);  ///< x if positive, else exp(x) - 1
inline constexpr activation exponential = activation::of(activation_kind::exponential);  ///< exp(x)
inline constexpr activation softplus = activation::of(activation_kind::softplus);        ///< log(1 + exp(x))
inline constexpr activation softsign = activation::of(activation_kind::softsign);        ///< x / (1 + |x|)
inline constexpr activation hard_sigmoid =
    activation::of(activation_kind::hard_sigmoid);  ///< 0.2 x + 0.5 within [0, 1], as in Keras 2

namespace activations {

/// `tf.keras.activations.relu(x, alpha, max_value, threshold)`; a negative `max_value` means unlimited.
[[nodiscard]] constexpr activation relu(float alpha = 0, float max_value = -1, float threshold = 0) {
  return activation::of(activation_kind::relu, alpha, max_value, threshold);
}

/// `tf.keras.activations.elu(x, alpha)`.
[[nodiscard]] constexpr activation elu(float alpha = 1) { return activation::of(activation_kind::elu, alpha); }

/// `tf.keras.activations.gelu(x, approximate)`: exact with erf, approximate with tanh.
[[nodiscard]] constexpr activation gelu(bool approximate = false) {
  return activation::of(approximate ? activation_kind::gelu_tanh : activation_kind::gelu);
}

}  // namespace activations
}  // namespace stagecraft
