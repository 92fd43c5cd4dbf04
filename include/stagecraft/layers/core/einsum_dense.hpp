// SPDX-License-Identifier: BSD-3-Clause
// A dense layer whose sums an equation describes: tf.keras.layers.experimental.EinsumDense.
#pragma once

#include <stagecraft/initializers/glorot_uniform.hpp>
#include <stagecraft/initializers/zeros.hpp>
#include <stagecraft/layers/argument_layer.hpp>
#include <stagecraft/layers/argument_list.hpp>
#include <stagecraft/layers/core/einsum_equation.hpp>
#include <stagecraft/regularizers/regularizer.hpp>
#include <concepts>

namespace stagecraft::layers {

/// Keras's keyword arguments of EinsumDense behind the activation.
struct einsum_dense_options {
  fixed_name bias_axes = {};  ///< the letters of the output along which the bias differs; empty: there is no bias
  initializer kernel_initializer = initializers::glorot_uniform{};  ///< the values that the kernel begins with
  initializer bias_initializer = initializers::zeros{};             ///< the values that the bias begins with
  regularizer kernel_regularizer = {};  ///< a penalty on the kernel that is added to the loss: l1, l2 or both
  regularizer bias_regularizer = {};    ///< a penalty on the bias that is added to the loss: l1, l2 or both
  /// A penalty on the output that is added to the loss, divided by the batch size: l1, l2 or both.
  regularizer activity_regularizer = {};
  constraint kernel_constraint = {};  ///< what the kernel becomes after each update: non_neg, max_norm and the like
  constraint bias_constraint = {};    ///< what the bias becomes after each update: non_neg, max_norm and the like
  /// The layer's name in summaries, errors and names of weights; empty: made from the class, as in Keras ("dense_1").
  fixed_name name = {};
  bool trainable = true;  ///< false: a frozen layer, whose weights training does not change
  /// The type of the layer's weights and of what it computes, in place of the dtype_policy's.
  stagecraft::dtype dtype = stagecraft::dtype::of_policy;
};

/// output = activation(einsum(equation, input, kernel) + bias): `einsum_dense{"abc,cd->abd", {12, 64}}`, where each
/// letter is an axis, the first one the batch. "...b,bc->...c" leaves the axes in front as they are, and
/// "ab...,bc->ac..." those behind; `output_shape` has the other axes of the output, without the batch, and -1 (Keras's
/// None) for those of the input.
///
/// Weights: kernel, of the axes that the equation gives it, and, with `bias_axes`, bias. Cost: a product. Errors:
/// E1001; E1124 an equation that is none, or does not fit the input and `output_shape`. Definition: Keras API,
/// layers/experimental/EinsumDense.
struct einsum_dense : argument_layer<einsum_dense, einsum_dense_options> {
  static constexpr std::string_view class_name = "EinsumDense";
  static constexpr std::string_view usage =
      "einsum_dense{\"ab,bc->ac\", 64} or einsum_dense{\"abc,cd->abd\", {12, 64}, sc::relu, {.bias_axes = \"d\"}}"sv;

  fixed_name equation;
  shape output_shape;
  stagecraft::activation activation = linear;
  using arguments = argument_list<&einsum_dense::equation, &einsum_dense::output_shape, &einsum_dense::activation>;

  constexpr einsum_dense(std::string_view equation_, shape const& output_shape_,
                         einsum_dense_options const& options_ = {})
      : argument_layer(with{}, options_), equation(equation_), output_shape(output_shape_) {}
  // A template, since inside templates Clang takes `{.name = "..."}` for an activation, too.
  template <std::convertible_to<stagecraft::activation> Activation>
  constexpr einsum_dense(std::string_view equation_, shape const& output_shape_, Activation activation_,
                         einsum_dense_options const& options_ = {})
      : argument_layer(with{}, options_), equation(equation_), output_shape(output_shape_), activation(activation_) {}
  using argument_layer::argument_layer;

  constexpr auto call(auto& ops, auto x) const {
    detail::einsum_equation const of(equation.view(), options.bias_axes.view(), x.shape(), output_shape);
    if (output_shape.already_reported()) return ops.error(1126, output_shape), x;
    if (!of.problem.empty())
      return ops.error(1124, "has the equation '", equation, "' for an input of shape ", detail::sample_shape(x), ": ",
                       of.problem),
             x;
    shape lengths;
    for (char const axis : of.kernel.view()) lengths.push_back(of.length(axis));
    auto const kernel = ops.weight(parameter::with("kernel", lengths, options.kernel_initializer,
                                                   options.kernel_regularizer, options.kernel_constraint));
    auto y = of.multiply(ops, x, kernel);
    if (!options.bias_axes.empty())
      y += ops.weight(parameter::with("bias", of.bias_shape(options.bias_axes.view()), options.bias_initializer,
                                      options.bias_regularizer, options.bias_constraint));
    return activation(y);
  }
};

}  // namespace stagecraft::layers
