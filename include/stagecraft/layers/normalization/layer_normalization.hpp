// SPDX-License-Identifier: BSD-3-Clause
// Normalises each sample, or each row of it: tf.keras.layers.LayerNormalization.
#pragma once

#include <stagecraft/graph/axis_list.hpp>
#include <stagecraft/graph/wrong_options.hpp>
#include <stagecraft/initializers/ones.hpp>
#include <stagecraft/initializers/zeros.hpp>
#include <stagecraft/layers/layer.hpp>
#include <stagecraft/regularizers/regularizer.hpp>

namespace stagecraft::layers {

/// Keras's keyword arguments of LayerNormalization.
struct layer_normalization_options {
  /// The axes that are normalized together; negative numbers count from the end.
  axis_list axis = -1;
  /// A small number that is added to the variance, so that nothing is divided by 0.
  float epsilon = 1e-3F;
  /// Whether the layer has weights `beta`, which are added to the result.
  bool center = true;
  /// Whether the layer has weights `gamma`, which the result is multiplied by.
  bool scale = true;
  /// The values that `beta` begins with.
  initializer beta_initializer = initializers::zeros{};
  /// The values that `gamma` begins with.
  initializer gamma_initializer = initializers::ones{};
  /// A penalty on `beta` that is added to the loss: l1, l2 or both.
  regularizer beta_regularizer = {};
  /// A penalty on `gamma` that is added to the loss: l1, l2 or both.
  regularizer gamma_regularizer = {};
  /// What `beta` becomes after each update: non_neg, max_norm and the like.
  constraint beta_constraint = {};
  /// What `gamma` becomes after each update: non_neg, max_norm and the like.
  constraint gamma_constraint = {};
  /// The layer's name in summaries, errors and names of weights; empty: made from the class, as in Keras ("dense_1").
  fixed_name name = {};
  bool trainable = true;  ///< false: a frozen layer, whose weights training does not change
  /// The type of the layer's weights and of what it computes, in place of the dtype_policy's.
  stagecraft::dtype dtype = stagecraft::dtype::of_policy;
};

/// output = (input - mean) / sqrt(variance + epsilon) * gamma + beta, with mean and variance over `axis`: the last axis
/// or a list of the last axes in their order, such as {1, 2} or {-2, -1} for an input of rank 3 (with the batch).
/// The same while training and in prediction.
///
/// Shape unchanged. Weights: gamma, beta, both of the shape of the normalised axes. Cost: 7 FLOPs per element.
/// Errors: E1050 axis; E1051 axes that are not the last ones; E1053 epsilon.
/// Definition: Keras API, layers/normalization_layers.
struct layer_normalization : layer<layer_normalization> {
  static constexpr bool supports_masking = true;
  static constexpr std::string_view class_name = "LayerNormalization";
  static constexpr std::string_view usage =
      "layer_normalization{}, layer_normalization{axis} or layer_normalization{{.axis = {1, 2}, .name = ...}}"sv;

  /// Whether kernels of its own carry out its steps.
  static constexpr bool has_kernel = true;

  layer_normalization_options options;

  constexpr layer_normalization() : layer_normalization(layer_normalization_options{}) {}
  constexpr explicit layer_normalization(int axis_) : layer_normalization(layer_normalization_options{.axis = axis_}) {}
  constexpr explicit(false) layer_normalization(layer_normalization_options const& options_) : options(options_) {
    take_base_options(options);
  }

  /// Anything else: E1025.
  using layer::layer;
  template <class L = layer_normalization>
  constexpr explicit layer_normalization(detail::wrong_options, ...) : layer_normalization() {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  /// The shape of what is normalised at once: the last axes, as many as `axis` names.
  [[nodiscard]] constexpr shape normalized_shape(shape const& in) const {
    shape result;
    for (int i = in.rank() - options.axis.count; i < in.rank(); ++i) result.push_back(in[i]);
    return result;
  }

  constexpr auto call(auto& ops, auto x) const {
    shape const in = detail::sample_shape(x);
    int const rank = in.rank();
    bool are_last = true;
    for (int i = 0; i < options.axis.count; ++i) {
      int const along = options.axis.axes[i] < 0 ? rank + options.axis.axes[i] : options.axis.axes[i] - 1;
      if (along < 0 || along >= rank) {
        ops.error(1050, "normalises along axis ", options.axis.axes[i], ", which is not an axis of an input of shape ",
                  in, "; axis 0 is the batch, the last is ", rank);
        return x;
      }
      are_last = are_last && along == rank - options.axis.count + i;
    }
    if (!are_last)
      ops.error(1051, "normalises along axis ", options.axis, ", but it takes the last axes of its input alone, ",
                "in their order; the input's shape is ", in, " behind the batch, which is axis 0");
    else if (!(options.epsilon >= 0.0F && options.epsilon < 1e30F))
      ops.error(1053, "has an epsilon that is negative or not a number; Keras's default is 0.001");
    else {
      auto const centred = x - ops.mean(x, options.axis);
      auto y = centred * rsqrt(ops.mean(square(centred), options.axis) + options.epsilon);
      if (options.scale)
        y *= ops.weight(parameter::with("gamma", normalized_shape(in), options.gamma_initializer,
                                        options.gamma_regularizer, options.gamma_constraint));
      if (options.center)
        y += ops.weight(parameter::with("beta", normalized_shape(in), options.beta_initializer,
                                        options.beta_regularizer, options.beta_constraint));
      return y;
    }
    return x;
  }
  [[nodiscard]] constexpr long long flops(layer_inputs const& in) const { return 7LL * in[0].size(); }
};

}  // namespace stagecraft::layers
