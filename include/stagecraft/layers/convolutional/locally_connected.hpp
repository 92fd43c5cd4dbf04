// SPDX-License-Identifier: BSD-3-Clause
// Convolutions with another kernel at each place: tf.keras.layers.LocallyConnected1D and LocallyConnected2D.
#pragma once

#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/initializers/constant.hpp>
#include <stagecraft/initializers/variance_scaling.hpp>
#include <stagecraft/layers/window_layer.hpp>

namespace stagecraft::layers {

/// Keras's keyword arguments of LocallyConnected1D (Size is int) and LocallyConnected2D (Size is size_2d).
template <class Size>
struct locally_connected_options {
  Size strides = 1;  ///< the distance that the window moves from one output to the next
  stagecraft::padding padding = stagecraft::padding::valid;  ///< `valid` alone: windows lie inside the input
  bool use_bias = true;  ///< true if the layer has weights `bias`, one per output, which are added to the result
  initializer kernel_initializer = initializers::glorot_uniform{};  ///< the values that the kernel begins with
  initializer bias_initializer = initializers::zeros{};             ///< the values that the bias begins with
  regularizer kernel_regularizer = {};  ///< a penalty on the kernel that is added to the loss: l1, l2 or both
  regularizer bias_regularizer = {};    ///< a penalty on the bias that is added to the loss: l1, l2 or both
  /// A penalty on the output that is added to the loss, divided by the batch size: l1, l2 or both.
  regularizer activity_regularizer = {};
  /// The constraint on the kernel after each update: non_neg, max_norm and the like.
  constraint kernel_constraint = {};
  constraint bias_constraint = {};  ///< the constraint on the bias after each update: non_neg, max_norm and the like
#include <stagecraft/layers/common_options.hpp>
};

/// A convolution with a kernel and a bias of its own for each place of the output; channels last. Keras's
/// implementation 1.
///
/// Weights: kernel (places of the output, elements of a window, filters), bias (new lengths..., filters). Cost: 2 FLOPs
/// per weight of the kernel. Errors: those of window_layer; E1034 if the window does not fit; E1037 for another padding
/// than valid.
template <class Derived, class Size>
struct locally_connected_layer : window_layer<Derived, Size, locally_connected_options<Size>> {
  using base = window_layer<Derived, Size, locally_connected_options<Size>>;
  using base::base;

  constexpr auto call(auto& ops, auto x) const {
    if (!base::check_options(ops, x, 1)) return x;
    auto const& given = this->options;
    int const batch = x.length(0), channels = x.length(-1), outputs = this->filters;
    operations::extents out;
    auto const over = base::windows_of(x.shape(), 1);
    if (given.padding != padding::valid) return ops.error(1037, "has a padding that is not valid"), x;
    if (!over.out(x.shape(), outputs, out))
      return ops.error(1034, "has a kernel of ", this->kernel_size, ", which does not fit into an input of ",
                       detail::sample_shape(x)),
             x;
    int const rows = static_cast<int>(out.size() / batch / outputs), taps = static_cast<int>(over.size());
    // The inputs of each window, tap after tap: (places, batch, taps * channels).
    tracing::growing_array<operations::tensor> seen;
    for (int tap = 0; tap < taps; ++tap) {
      auto part = x;
      for (int axis = base::places, rest = tap; axis-- > 0; rest /= over[axis].size)
        part = ops.slice(part, axis + 1, rest % over[axis].size, out[axis + 1], over[axis].stride);
      seen.push_back(ops.reshape(part, {batch, rows, channels}));
    }
    auto const windows = ops.transpose(ops.concatenate(seen), {1, 0, 2});
    auto const kernel = base::make_kernel(ops, {rows, taps * channels, outputs});
    auto const sums = ops.reshape(ops.transpose(ops.matmul(windows, kernel), {1, 0, 2}), out);
    return base::with_bias_and_activation(ops, sums, detail::sample_shape(sums));
  }
};

using locally_connected1d_options = locally_connected_options<int>;

/// A convolution with weights of its own at each place: tf.keras.layers.LocallyConnected1D.
/// See locally_connected_layer. Shape: (steps, channels) to (new steps, channels) with `filters` channels.
/// Definition: Keras API, layers/locally_connected_layers/locall_connected1d.
struct locally_connected1d : locally_connected_layer<locally_connected1d, int> {
  static constexpr std::string_view class_name = "LocallyConnected1D";
  static constexpr std::string_view usage =
      "locally_connected1d{filters, kernel_size}, locally_connected1d{filters, kernel_size, activation} or "
      "locally_connected1d{filters, kernel_size, activation, {.strides = 2, ...}}"sv;

  using locally_connected_layer::locally_connected_layer;
};

using locally_connected2d_options = locally_connected_options<size_2d>;

/// A convolution with weights of its own at each place: tf.keras.layers.LocallyConnected2D.
/// See locally_connected_layer. Shape: (height, width, channels) to (new height, width, channels) with `filters`
/// channels. Definition: Keras API, layers/locally_connected_layers/locall_connected2d.
struct locally_connected2d : locally_connected_layer<locally_connected2d, size_2d> {
  static constexpr std::string_view class_name = "LocallyConnected2D";
  static constexpr std::string_view usage =
      "locally_connected2d{filters, kernel_size}, locally_connected2d{filters, kernel_size, activation} or "
      "locally_connected2d{filters, kernel_size, activation, {.strides = 2, ...}}"sv;

  using locally_connected_layer::locally_connected_layer;
};

}  // namespace stagecraft::layers
