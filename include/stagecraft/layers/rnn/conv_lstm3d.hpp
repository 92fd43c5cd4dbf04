// SPDX-License-Identifier: BSD-3-Clause
// Long short-term memory for volumes: tf.keras.layers.ConvLSTM3D.
#pragma once

#include <stagecraft/layers/rnn/conv_lstm_layer.hpp>

namespace stagecraft::layers {

using conv_lstm3d_options = conv_lstm_options<size_3d>;

/// See conv_lstm_layer. Shape of the input: (steps, depth, height, width, channels).
/// Definition: Keras API, layers/recurrent_layers/conv_lstm3d.
struct conv_lstm3d : conv_lstm_layer<conv_lstm3d, size_3d> {
  static constexpr std::string_view class_name = "ConvLSTM3D";
  static constexpr std::string_view usage =
      "conv_lstm3d{filters, kernel_size} or conv_lstm3d{filters, kernel_size, {.return_sequences = true, ...}}"sv;

  using conv_lstm_layer::conv_lstm_layer;
};

}  // namespace stagecraft::layers
