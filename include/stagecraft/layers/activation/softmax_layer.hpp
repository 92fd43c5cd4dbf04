// SPDX-License-Identifier: BSD-3-Clause
// Softmax as a layer of its own, along any axis: tf.keras.layers.Softmax.
#pragma once

#include <stagecraft/graph/wrong_options.hpp>
#include <stagecraft/layers/argument_list.hpp>
#include <stagecraft/layers/layer.hpp>

namespace stagecraft::layers {

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

  /// Anything else: E1025.
  using layer::layer;
  template <class L = softmax_layer>
  constexpr explicit softmax_layer(detail::wrong_options, ...) : softmax_layer(-1) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  /// The axis among those of a shape, which has no batch.
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
