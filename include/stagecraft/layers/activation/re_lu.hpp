// SPDX-License-Identifier: BSD-3-Clause
// The rectifier as a layer of its own, with its options: tf.keras.layers.ReLU.
#pragma once

#include <stagecraft/activations/activation.hpp>
#include <stagecraft/graph/wrong_options.hpp>
#include <stagecraft/layers/layer.hpp>

namespace stagecraft::layers {

/// Keras's keyword arguments of ReLU.
struct re_lu_options {
  float max_value = -1;  ///< the largest output; negative, like Keras's None: unlimited
  /// Inputs below the threshold are multiplied by it, measured from the threshold.
  float negative_slope = 0;
  /// The input from which on the output is the input itself.
  float threshold = 0;
  /// The layer's name in summaries, errors and names of weights; empty: made from the class, as in Keras ("dense_1").
  fixed_name name = {};
  bool trainable = true;  ///< false: a frozen layer, whose weights training does not change
  /// The type of the layer's weights and of what it computes, in place of the dtype_policy's.
  stagecraft::dtype dtype = stagecraft::dtype::of_policy;
};

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
  constexpr explicit(false) re_lu(re_lu_options const& options_) : options(options_) {
    layer_name = options.name;
    trainable = options.trainable;
    layer_dtype = options.dtype;
  }

  /// Anything else: E1025.
  using layer::layer;
  template <class L = re_lu>
  constexpr explicit re_lu(detail::wrong_options, ...) : re_lu() {
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

}  // namespace stagecraft::layers
