// SPDX-License-Identifier: BSD-3-Clause
// What the layers have in common that reduce all positions of an image, a sequence or a volume. Keras counterpart: the
// base classes GlobalPooling1D and its like of tf.keras.layers.GlobalAveragePooling2D and its like.
#pragma once

#include <stagecraft/graph/wrong_options.hpp>
#include <stagecraft/layers/argument_list.hpp>
#include <stagecraft/layers/layer.hpp>

namespace stagecraft::layers {

/// Keras's keyword arguments of the global pooling layers.
struct global_pooling_options {
  bool keepdims = false;  ///< the axes that are reduced stay, with a length of 1
  /// The layer's name in summaries, errors and names of weights; empty: made from the class, as in Keras ("dense_1").
  fixed_name name = {};
  bool trainable = true;  ///< false: a frozen layer, whose weights training does not change
  /// The type of the layer's weights and of what it computes, in place of the dtype_policy's.
  stagecraft::dtype dtype = stagecraft::dtype::of_policy;
};

/// Base of global_average_pooling1d, global_max_pooling1d and those of two and three axes. Axes is 4 for volumes, 3 for
/// images, 2 for sequences; channels are the last axis (`data_format="channels_last"`).
///
/// Errors: E1001; E1041 for an input of another number of axes.
template <class Derived, int Axes>
struct global_pooling_layer : layer<Derived> {
  bool keepdims = false;
  using arguments = argument_list<&global_pooling_layer::keepdims>;

  constexpr global_pooling_layer() : global_pooling_layer(global_pooling_options{}) {}
  constexpr explicit(false) global_pooling_layer(global_pooling_options const& options) : keepdims(options.keepdims) {
    this->layer_name = options.name;
    this->trainable = options.trainable;
    this->layer_dtype = options.dtype;
  }

  /// Anything else: E1025.
  using layer<Derived>::layer;
  template <class L = Derived>
  constexpr explicit global_pooling_layer(detail::wrong_options, ...) : global_pooling_layer() {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  constexpr auto call(auto& ops, auto x) const {
    if (x.rank() != Axes + 1) {
      ops.error(1041, "expects an input of shape ",
                Axes == 4   ? "(depth, height, width, channels)"
                : Axes == 3 ? "(height, width, channels)"
                            : "(steps, channels)",
                ", but got ", detail::sample_shape(x));
      return x;
    }
    axis_list axes = 1;
    for (; axes.count < Axes - 1; ++axes.count) axes.axes[axes.count] = axes.count + 1;
    auto const pooled = Derived::pool(ops, x, axes);
    return keepdims ? pooled : ops.reshape(pooled, {x.length(0), x.length(-1)});
  }
};

}  // namespace stagecraft::layers
