// SPDX-License-Identifier: BSD-3-Clause
// A densely connected layer: tf.keras.layers.Dense.
#pragma once

#include <stagecraft/activations/activation.hpp>
#include <stagecraft/graph/wrong_options.hpp>
#include <stagecraft/initializers/constant.hpp>
#include <stagecraft/initializers/variance_scaling.hpp>
#include <stagecraft/layers/count_limit.hpp>
#include <stagecraft/layers/layer.hpp>
#include <stagecraft/regularizers/regularizer.hpp>
#include <concepts>

namespace stagecraft::layers {

/// Keras's keyword arguments of Dense.
struct dense_options {
  /// True if the layer has weights `bias`, one per unit, which are added to the result.
  bool use_bias = true;
  /// The values that the kernel begins with.
  initializer kernel_initializer = initializers::glorot_uniform{};
  /// The values that the bias begins with.
  initializer bias_initializer = initializers::zeros{};
  /// A penalty on the kernel that is added to the loss: l1, l2 or both.
  regularizer kernel_regularizer = {};
  /// A penalty on the bias that is added to the loss: l1, l2 or both.
  regularizer bias_regularizer = {};
  /// A penalty on the output that is added to the loss, divided by the batch size: l1, l2 or both.
  regularizer activity_regularizer = {};
  /// The constraint on the kernel after each update: non_neg, max_norm and the like.
  constraint kernel_constraint = {};
  /// The constraint on the bias after each update: non_neg, max_norm and the like.
  constraint bias_constraint = {};
  /// The whole numbers of 8 bits that the layer multiplies: see bytes_from; by default, it multiplies floats.
  bytes_from input_bytes = {};
#include <stagecraft/layers/common_options.hpp>
};

/// output = activation(input * kernel + bias), over the last axis of its input.
///
/// Shape: (..., k) to (..., units). Weights: kernel (k, units), bias (units). Cost: 2 * k * units FLOPs per row.
/// Errors: E1012 if units is below 1; E1002 if the input has no axis. Definition: Keras API, layers/core_layers/dense.
struct dense : layer<dense> {
  static constexpr bool supports_masking = true;
  static constexpr std::string_view class_name = "Dense";
  static constexpr std::string_view usage =
      "dense{units}, dense{units, activation} or dense{units, activation, {.use_bias = false, .name = ...}}"sv;

  static constexpr auto steps_by = layer_kernel::product;
  static constexpr bool ends_with_activation = true;

  int units = 1;
  stagecraft::activation activation = linear;
  dense_options options;
  using arguments = argument_list<&dense::units, &dense::activation>;

  constexpr explicit(false) dense(detail::whole_number units_) : dense(dense_options{}, units_, linear) {}
  constexpr dense(detail::whole_number units_, dense_options const& options_) : dense(options_, units_, linear) {}
  // It is a template, since inside templates Clang takes `{.name = "..."}` for an activation, too.
  template <std::convertible_to<stagecraft::activation> Activation>
  constexpr dense(detail::whole_number units_, Activation activation_, dense_options const& options_ = {})
      : dense(options_, units_, activation_) {}

  using layer::layer;
  /// No argument, or any other: E1025.
  template <class L = dense>
  constexpr explicit dense(detail::wrong_options = {}, detail::wrong_options = {}, detail::wrong_options = {},
                           detail::wrong_options = {})
      : dense(1) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  constexpr auto call(auto& ops, auto x) const {
    if (!detail::are_counts(units))
      ops.error(1012, "has ", units, " units; it needs ", detail::count_limit(units));
    else if (x.rank() < 2)
      ops.error(1002, "expects an input of at least one axis, but got ", detail::sample_shape(x));
    else
      return sums(ops, x);
    return x;
  }

 private:
  constexpr dense(dense_options const& options_, int units_, stagecraft::activation activation_)
      : units(units_), activation(activation_), options(options_) {
    take_base_options(options);
  }

  constexpr auto sums(auto& ops, auto x) const {
    auto y = ops.matmul(x, ops.weight(parameter::with("kernel", {x.length(-1), units}, options.kernel_initializer,
                                                      options.kernel_regularizer, options.kernel_constraint,
                                                      tracing::parameter_layout::matrix)));
    if (options.use_bias)
      y += ops.weight(parameter::with("bias", {units}, options.bias_initializer, options.bias_regularizer,
                                      options.bias_constraint));
    return activation(y);
  }
};

}  // namespace stagecraft::layers
