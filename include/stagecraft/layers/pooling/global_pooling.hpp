// SPDX-License-Identifier: BSD-3-Clause
// Layers that reduce all positions of a sequence, an image or a volume: tf.keras.layers.GlobalMaxPooling2D and its
// like. Keras counterpart of what they share: the base classes GlobalPooling1D and its like.
#pragma once

#include <stagecraft/graph/wrong_options.hpp>
#include <stagecraft/layers/layer.hpp>
#include <stagecraft/layers/traced_call.hpp>

namespace stagecraft::layers {

/// Keras's keyword arguments of the global pooling layers.
struct global_pooling_options {
  bool keepdims = false;  ///< true if the reduced axes stay, with length 1
#include <stagecraft/layers/common_options.hpp>
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
    this->take_base_options(options);
  }

  /// Any other argument: E1025.
  using layer<Derived>::layer;
  template <class L = Derived>
  constexpr explicit global_pooling_layer(detail::wrong_options, detail::wrong_options = {}, detail::wrong_options = {},
                                          detail::wrong_options = {})
      : global_pooling_layer() {
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

/// The largest value of each channel of a sequence: tf.keras.layers.GlobalMaxPooling1D.
/// The largest value of each channel over all positions. If several positions hold it, each gets an equal part of the
/// gradient, as in TensorFlow.
///
/// Shape: (steps, channels) to (channels), or (1, channels) with keepdims. No weights. Errors: see
/// global_pooling_layer. Definition: Keras API, layers/pooling_layers/global_max_pooling1d.
struct global_max_pooling1d : global_pooling_layer<global_max_pooling1d, 2> {
  static constexpr std::string_view class_name = "GlobalMaxPooling1D";
  static constexpr std::string_view usage =
      "global_max_pooling1d{} or global_max_pooling1d{{.keepdims = true, .name = ...}}"sv;
  static constexpr auto steps_by = layer_kernel::global_max_pooling;

  using global_pooling_layer<global_max_pooling1d, 2>::global_pooling_layer;

  static constexpr auto pool(auto& ops, auto x, axis_list const& axes) { return ops.max(x, axes); }
};

/// The largest value of each channel of an image: tf.keras.layers.GlobalMaxPooling2D.
/// The largest value of each channel over all positions. If several positions hold it, each gets an equal part of the
/// gradient, as in TensorFlow.
///
/// Shape: (height, width, channels) to (channels), or (1, 1, channels) with keepdims. No weights. Errors: see
/// global_pooling_layer. Definition: Keras API, layers/pooling_layers/global_max_pooling2d.
struct global_max_pooling2d : global_pooling_layer<global_max_pooling2d, 3> {
  static constexpr std::string_view class_name = "GlobalMaxPooling2D";
  static constexpr std::string_view usage =
      "global_max_pooling2d{} or global_max_pooling2d{{.keepdims = true, .name = ...}}"sv;
  static constexpr auto steps_by = layer_kernel::global_max_pooling;

  using global_pooling_layer<global_max_pooling2d, 3>::global_pooling_layer;

  static constexpr auto pool(auto& ops, auto x, axis_list const& axes) { return ops.max(x, axes); }
};

/// The largest value of each channel of a volume: tf.keras.layers.GlobalMaxPooling3D.
/// The largest value of each channel over all positions. If several positions hold it, each gets an equal part of the
/// gradient, as in TensorFlow.
///
/// Shape: (depth, height, width, channels) to (channels), or (1, 1, 1, channels) with keepdims. No weights. Errors: see
/// global_pooling_layer. Definition: Keras API, layers/pooling_layers/global_max_pooling3d.
struct global_max_pooling3d : global_pooling_layer<global_max_pooling3d, 4> {
  static constexpr std::string_view class_name = "GlobalMaxPooling3D";
  static constexpr std::string_view usage =
      "global_max_pooling3d{} or global_max_pooling3d{{.keepdims = true, .name = ...}}"sv;

  using global_pooling_layer<global_max_pooling3d, 4>::global_pooling_layer;

  static constexpr auto pool(auto& ops, auto x, axis_list const& axes) { return ops.max(x, axes); }
};

/// The mean of each channel of a sequence: tf.keras.layers.GlobalAveragePooling1D.
/// If the sequence has masked steps, only steps that count do so in the mean (NaN if there are none, as in Keras).
///
/// Shape: (steps, channels) to (channels), or (1, channels) with keepdims. No weights. Errors: see
/// global_pooling_layer. Definition: Keras API, layers/pooling_layers/global_average_pooling1d.
struct global_average_pooling1d : global_pooling_layer<global_average_pooling1d, 2> {
  static constexpr bool supports_masking = true;
  static constexpr std::string_view class_name = "GlobalAveragePooling1D";
  static constexpr std::string_view usage =
      "global_average_pooling1d{} or global_average_pooling1d{{.keepdims = true, .name = ...}}"sv;

  tracing::step_masks masks = {};  ///< masks of its first call, which the library finds

  [[nodiscard]] static constexpr bool passes_mask() { return false; }

  using base = global_pooling_layer<global_average_pooling1d, 2>;
  using base::base;

  static constexpr auto pool(auto& ops, auto x, axis_list const& axes) { return ops.mean(x, axes); }
  constexpr operations::tensor call_masked(operations::tracer& ops, tensor_list in, mask_list const& counts) const {
    auto const x = in[0], mask = counts[0];
    if (mask.list == nullptr || x.rank() != 3) return base::call(ops, x);
    auto const steps = ops.reshape(mask, {mask.length(0), mask.length(1), 1});
    auto const mean = ops.sum(x * steps, 1) / ops.sum(steps, 1);
    return keepdims ? mean : ops.reshape(mean, {x.length(0), x.length(-1)});
  }
};

/// The mean of each channel of an image: tf.keras.layers.GlobalAveragePooling2D.
/// The mean of each channel over all positions.
///
/// Shape: (height, width, channels) to (channels), or (1, 1, channels) with keepdims. No weights. Errors: see
/// global_pooling_layer. Definition: Keras API, layers/pooling_layers/global_average_pooling2d.
struct global_average_pooling2d : global_pooling_layer<global_average_pooling2d, 3> {
  static constexpr std::string_view class_name = "GlobalAveragePooling2D";
  static constexpr std::string_view usage =
      "global_average_pooling2d{} or global_average_pooling2d{{.keepdims = true, .name = ...}}"sv;

  using global_pooling_layer<global_average_pooling2d, 3>::global_pooling_layer;

  static constexpr auto pool(auto& ops, auto x, axis_list const& axes) { return ops.mean(x, axes); }
};

/// The mean of each channel of a volume: tf.keras.layers.GlobalAveragePooling3D.
/// The mean of each channel over all positions.
///
/// Shape: (depth, height, width, channels) to (channels), or (1, 1, 1, channels) with keepdims. No weights. Errors: see
/// global_pooling_layer. Definition: Keras API, layers/pooling_layers/global_average_pooling3d.
struct global_average_pooling3d : global_pooling_layer<global_average_pooling3d, 4> {
  static constexpr std::string_view class_name = "GlobalAveragePooling3D";
  static constexpr std::string_view usage =
      "global_average_pooling3d{} or global_average_pooling3d{{.keepdims = true, .name = ...}}"sv;

  using global_pooling_layer<global_average_pooling3d, 4>::global_pooling_layer;

  static constexpr auto pool(auto& ops, auto x, axis_list const& axes) { return ops.mean(x, axes); }
};

}  // namespace stagecraft::layers
