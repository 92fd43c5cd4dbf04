// SPDX-License-Identifier: BSD-3-Clause
// A rectifier that learns its slope below zero: tf.keras.layers.PReLU.
#pragma once

#include <stagecraft/graph/axis_list.hpp>
#include <stagecraft/graph/wrong_options.hpp>
#include <stagecraft/initializers/zeros.hpp>
#include <stagecraft/layers/argument_list.hpp>
#include <stagecraft/layers/layer.hpp>
#include <stagecraft/regularizers/regularizer.hpp>

namespace stagecraft::layers {

/// Keras's keyword arguments of PReLU.
struct prelu_options {
  /// The slopes for negative inputs that the layer begins with.
  initializer alpha_initializer = initializers::zeros{};
  /// A penalty on the slopes that is added to the loss: l1, l2 or both.
  regularizer alpha_regularizer = {};
  /// What the slopes become after each update: non_neg, max_norm and the like.
  constraint alpha_constraint = {};
  axis_list shared_axes = axis_list::none();  ///< axes along which all elements have one slope: {1, 2} for an image
  /// The layer's name in summaries, errors and names of weights; empty: made from the class, as in Keras ("dense_1").
  fixed_name name = {};
  bool trainable = true;  ///< false: a frozen layer, whose weights training does not change
  /// The type of the layer's weights and of what it computes, in place of the dtype_policy's.
  stagecraft::dtype dtype = stagecraft::dtype::of_policy;
};

/// f(x) = x for x > 0, alpha * x below, with an alpha of its own for each element of a sample, but along the
/// `shared_axes`, which count as in Keras: the batch is axis 0, -1 is the last.
///
/// Shape unchanged. Weights: alpha, of the input's shape with 1 for the shared axes. Errors: E1001; E1062 for an axis
/// that the input does not have, or the batch. Definition: Keras API, layers/activation_layers/prelu.
struct prelu : layer<prelu> {
  static constexpr bool supports_masking = true;
  static constexpr std::string_view class_name = "PReLU";
  static constexpr std::string_view usage = "prelu{} or prelu{{.shared_axes = {1, 2}, .name = ...}}"sv;

  initializer alpha_initializer;
  regularizer alpha_regularizer;
  constraint alpha_constraint;
  axis_list shared_axes = axis_list::none();
  using arguments = argument_list<&prelu::alpha_initializer, &prelu::alpha_regularizer, &prelu::alpha_constraint,
                                  &prelu::shared_axes>;

  constexpr prelu() : prelu(prelu_options{}) {}
  constexpr explicit(false) prelu(prelu_options const& options)
      : alpha_initializer(options.alpha_initializer),
        alpha_regularizer(options.alpha_regularizer),
        alpha_constraint(options.alpha_constraint),
        shared_axes(options.shared_axes) {
    layer_name = options.name;
    trainable = options.trainable;
    layer_dtype = options.dtype;
  }

  /// Anything else: E1025.
  using layer::layer;
  template <class L = prelu>
  constexpr explicit prelu(detail::wrong_options, ...) : prelu() {
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
    return relu(x) - relu(-x) * alpha;  // as Keras does it, whose gradient at 0 is 0
  }

 private:
  static constexpr int shape_axis(int axis, shape const& in) { return axis < 0 ? in.rank() + axis : axis - 1; }
};

}  // namespace stagecraft::layers
