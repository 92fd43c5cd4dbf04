// SPDX-License-Identifier: BSD-3-Clause
// Activation functions as layers of their own.
// Keras counterpart: the classes of tf.keras.layers of the family "activation".
#pragma once

#include <stagecraft/activations/activation.hpp>
#include <stagecraft/graph/shape.hpp>
#include <stagecraft/graph/wrong_options.hpp>
#include <stagecraft/initializers/constant.hpp>
#include <stagecraft/layers/layer.hpp>
#include <stagecraft/regularizers/regularizer.hpp>

namespace stagecraft::layers {

/// Keras's keyword arguments of ReLU.
struct re_lu_options {
  float max_value = -1;  ///< the largest output; negative, like Keras's None: unlimited
  /// The slope below the threshold, measured from the threshold.
  float negative_slope = 0;
  /// The input from which on the output is the input itself.
  float threshold = 0;
#include <stagecraft/layers/common_options.hpp>
};

/// The rectifier as a layer of its own, with its options: tf.keras.layers.ReLU.
/// f(x) = max_value for x >= max_value, x for threshold <= x < max_value, negative_slope * (x - threshold) below.
/// `re_lu{6}` has a max_value of 6.
///
/// Shape unchanged, no weights. Errors: E1001; E1060 for a negative slope or threshold.
/// Definition: Keras API, layers/activation_layers/relu.
struct re_lu : layer<re_lu> {
  static constexpr bool supports_masking = true;
  static constexpr std::string_view class_name = "ReLU";
  static constexpr std::string_view usage =
      "re_lu{}, re_lu{max_value} or re_lu{{.negative_slope = 0.1F, .name = ...}}"sv;

  re_lu_options options;

  constexpr re_lu() : re_lu(re_lu_options{}) {}
  constexpr explicit re_lu(float max_value) : re_lu(re_lu_options{.max_value = max_value}) {}
  constexpr explicit re_lu(double max_value) : re_lu(static_cast<float>(max_value)) {}
  constexpr explicit re_lu(int max_value) : re_lu(static_cast<float>(max_value)) {}
  constexpr explicit(false) re_lu(re_lu_options const& options_) : options(options_) { take_base_options(options); }

  /// Any other argument: E1025.
  using layer::layer;
  template <class L = re_lu>
  constexpr explicit re_lu(detail::wrong_options, detail::wrong_options = {}, detail::wrong_options = {},
                           detail::wrong_options = {})
      : re_lu() {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  [[nodiscard]] constexpr stagecraft::activation function() const {
    return activations::relu(options.negative_slope, options.max_value < 0 ? -1 : options.max_value, options.threshold);
  }

  constexpr auto call(auto& ops, auto x) const {
    if (!(options.negative_slope >= 0.0F && options.negative_slope < 1e6F))
      ops.error(1060, "has a negative_slope that is negative or not a number; it must be at least 0");
    else if (!(options.threshold >= 0.0F && options.threshold < 1e30F))
      ops.error(1060, "has a threshold that is negative or not a number; it must be at least 0");
    return function()(x);
  }
};

/// A rectifier that lets a part of negative values pass: tf.keras.layers.LeakyReLU.
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

  /// Any other argument: E1025.
  using layer::layer;
  template <class L = leaky_re_lu>
  constexpr explicit leaky_re_lu(detail::wrong_options, detail::wrong_options = {}, detail::wrong_options = {},
                                 detail::wrong_options = {})
      : leaky_re_lu() {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  [[nodiscard]] constexpr stagecraft::activation function() const { return activations::relu(alpha); }

  constexpr auto call(auto& ops, auto x) const {
    if (!(alpha > -1e6F && alpha < 1e6F)) ops.error(1060, "has an alpha that is far out or not a number");
    return function()(x);
  }
};

/// Keras's keyword arguments of PReLU.
struct prelu_options {
  /// The initial slopes for negative inputs.
  initializer alpha_initializer = initializers::zeros{};
  /// A penalty on the slopes that is added to the loss: l1, l2 or both.
  regularizer alpha_regularizer = {};
  /// The constraint on the slopes after each update: non_neg, max_norm and the like.
  constraint alpha_constraint = {};
  axis_list shared_axes = axis_list::none();  ///< axes along which all elements have one slope: {1, 2} for an image
#include <stagecraft/layers/common_options.hpp>
};

/// A rectifier that learns its slope below zero: tf.keras.layers.PReLU.
/// f(x) = x for x > 0, alpha * x below, with an alpha of its own for each element of a sample, but along the
/// `shared_axes`, which count as in Keras: the batch is axis 0, -1 is the last.
///
/// Shape unchanged. Weights: alpha, of the input's shape with 1 for the shared axes. Errors: E1001; E1062 for an axis
/// that the input does not have, or the batch. Definition: Keras API, layers/activation_layers/prelu.
struct prelu : layer<prelu> {
  static constexpr bool supports_masking = true;
  static constexpr std::string_view class_name = "PReLU";
  static constexpr std::string_view usage = "prelu{} or prelu{{.shared_axes = {1, 2}, .name = ...}}"sv;

  initializer alpha_initializer = {};
  regularizer alpha_regularizer = {};
  constraint alpha_constraint = {};
  axis_list shared_axes = axis_list::none();
  using arguments = argument_list<&prelu::alpha_initializer, &prelu::alpha_regularizer, &prelu::alpha_constraint,
                                  &prelu::shared_axes>;

  constexpr prelu() : prelu(prelu_options{}) {}
  constexpr explicit(false) prelu(prelu_options const& options)
      : alpha_initializer(options.alpha_initializer),
        alpha_regularizer(options.alpha_regularizer),
        alpha_constraint(options.alpha_constraint),
        shared_axes(options.shared_axes) {
    take_base_options(options);
  }

  /// Any other argument: E1025.
  using layer::layer;
  template <class L = prelu>
  constexpr explicit prelu(detail::wrong_options, detail::wrong_options = {}, detail::wrong_options = {},
                           detail::wrong_options = {})
      : prelu() {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  [[nodiscard]] constexpr shape alpha_shape(shape const& in) const {
    auto result = in;
    for (int i = 0; i < shared_axes.count; ++i) result[shape_axis(shared_axes.axes[i], in)] = 1;
    return result;
  }

  constexpr auto call(auto& ops, auto x) const {
    shape const in = detail::sample_shape(x);
    for (int i = 0; i < shared_axes.count; ++i) {
      int const axis = shape_axis(shared_axes.axes[i], in);
      if (axis >= 0 && axis < in.rank()) continue;
      ops.error(1062, "shares its slopes along axis ", shared_axes.axes[i],
                ", which is not an axis of an input of shape ", in, "; axis 0 is the batch, the last is ", in.rank());
      return x;
    }
    auto const alpha =
        ops.weight(parameter::with("alpha", alpha_shape(in), alpha_initializer, alpha_regularizer, alpha_constraint));
    return relu(x) - relu(-x) * alpha;  // Keras's formula, whose gradient at 0 is 0
  }

 private:
  static constexpr int shape_axis(int axis, shape const& in) { return axis < 0 ? in.rank() + axis : axis - 1; }
};

/// The exponential linear unit as a layer of its own: tf.keras.layers.ELU.
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

  /// Any other argument: E1025.
  using layer::layer;
  template <class L = elu_layer>
  constexpr explicit elu_layer(detail::wrong_options, detail::wrong_options = {}, detail::wrong_options = {},
                               detail::wrong_options = {})
      : elu_layer() {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  [[nodiscard]] constexpr stagecraft::activation function() const { return activations::elu(alpha); }

  constexpr auto call(auto& ops, auto x) const {
    if (!(alpha > -1e6F && alpha < 1e6F)) ops.error(1060, "has an alpha that is far out or not a number");
    return function()(x);
  }
};

/// A rectifier with a threshold: tf.keras.layers.ThresholdedReLU.
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

  /// Any other argument: E1025.
  using layer::layer;
  template <class L = thresholded_re_lu>
  constexpr explicit thresholded_re_lu(detail::wrong_options, detail::wrong_options = {}, detail::wrong_options = {},
                                       detail::wrong_options = {})
      : thresholded_re_lu() {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  [[nodiscard]] constexpr stagecraft::activation function() const { return activations::relu(0, -1, theta); }

  constexpr auto call(auto& ops, auto x) const {
    if (!(theta >= 0.0F && theta < 1e30F)) ops.error(1060, "has a theta that is negative or not a number");
    return function()(x);
  }
};

/// Softmax as a layer of its own, along any axis: tf.keras.layers.Softmax.
/// exp(x) divided by the sum of exp(x) along `axis`, which counts as in Keras: the batch is axis 0, -1 is the last. It
/// is not called `softmax`, since that is the activation: along the last axis, `activation{sc::softmax}` and
/// `dense{units, sc::softmax}` compute the same.
///
/// Shape unchanged, no weights. Errors: E1001; E1061 for an axis that the input does not have, or the batch.
/// Definition: Keras API, layers/activation_layers/softmax.
struct softmax_layer : layer<softmax_layer> {
  static constexpr bool supports_masking = true;
  static constexpr std::string_view class_name = "Softmax";
  static constexpr std::string_view usage = "softmax_layer{} or softmax_layer{axis}"sv;
  static constexpr bool is_softmax = true;

  int axis = -1;
  using arguments = argument_list<&softmax_layer::axis>;

  constexpr explicit softmax_layer(int axis_ = -1) : axis(axis_) {}

  /// Any other argument: E1025.
  using layer::layer;
  template <class L = softmax_layer>
  constexpr explicit softmax_layer(detail::wrong_options, detail::wrong_options = {}, detail::wrong_options = {},
                                   detail::wrong_options = {})
      : softmax_layer(-1) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  /// The axis in a shape, which has no batch.
  [[nodiscard]] constexpr int shape_axis(shape const& in) const { return axis < 0 ? in.rank() + axis : axis - 1; }

  constexpr auto call(auto& ops, auto x) const {
    shape const in = detail::sample_shape(x);
    if (shape_axis(in) >= 0 && shape_axis(in) < in.rank()) return ops.softmax(x, shape_axis(in) + 1);
    ops.error(1061, "works along axis ", axis, ", which is not an axis of an input of shape ", in,
              "; axis 0 is the batch, the last is ", in.rank());
    return x;
  }
};

}  // namespace stagecraft::layers
