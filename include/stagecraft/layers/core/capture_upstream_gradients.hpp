// SPDX-License-Identifier: BSD-3-Clause
// Lets programs and loss scaling see a gradient on its way back.
// Graphcore counterpart: keras.ipu.layers.CaptureUpstreamGradients, CaptureActivationGradients.
#pragma once

#include <stagecraft/layers/option_layer.hpp>
#include <stagecraft/operations/composite_gradient.hpp>

namespace stagecraft::layers {

/// The tag, which is the layer's name, and nothing else.
struct capture_upstream_gradients_options {
  /// The layer's name in summaries and errors, and that of the gradient; empty: made from the class, as in Keras.
  fixed_name name = {};
  bool trainable = true;  ///< false changes nothing: gradients are captured wherever they come by
};

/// Gives what it gets, and keeps the gradient of that: `trainer.captured_gradients<"tag">()` is the one of the last
/// weight update, summed (or meant) over its micro-batches and replicas as gradients of weights are, and
/// als_optimizer counts it. Where Graphcore's wrappers take a layer, this stands behind it: `dense{8},
/// capture_upstream_gradients{}, activation{relu}` is CaptureUpstreamGradients(Dense(8)) and, as it stands before the
/// activation, CaptureActivationGradients(Dense(8, "relu")).
///
/// Shape unchanged. It keeps a tensor of a whole batch as a weight of its own, beside the optimizer's numbers for it,
/// which files and counts leave out. Errors: E1001; E1087 in a model whose inputs fix no batch size
/// (`input{4}.of_batch_size(8)`). Definition: Graphcore's Keras, keras/ipu/layers/capture_upstream_gradients.py.
struct capture_upstream_gradients : option_layer<capture_upstream_gradients, capture_upstream_gradients_options> {
  static constexpr bool supports_masking = true;
  static constexpr std::string_view class_name = "CaptureUpstreamGradients";
  static constexpr std::string_view usage =
      "capture_upstream_gradients{} or capture_upstream_gradients{{.name = ...}}"sv;

  using option_layer::option_layer;

  constexpr auto call(auto& ops, auto x) const {
    auto const captured = ops.state("gradient", x.shape(), true);
    return ops.composite("capture", {x, captured}, [&] { return x + 0.0F; }, keep_gradient);
  }

 private:
  static constexpr void keep_gradient(operations::composite_gradient& of) {
    of.give(0, of.gradient());
    of.give(1, of.gradient());
  }
};

}  // namespace stagecraft::layers
