// SPDX-License-Identifier: BSD-3-Clause
// Long short-term memory for images: tf.keras.layers.ConvLSTM2D.
#pragma once

#include <stagecraft/layers/rnn/conv_lstm_layer.hpp>

namespace stagecraft::layers {

using conv_lstm2d_options = conv_lstm_options<size_2d>;

/// See conv_lstm_layer. Shape of the input: (steps, height, width, channels).
/// Definition: Keras API, layers/recurrent_layers/conv_lstm2d.
struct conv_lstm2d : conv_lstm_layer<conv_lstm2d, size_2d> {
  static constexpr std::string_view class_name = "ConvLSTM2D";
  static constexpr std::string_view usage =
      "conv_lstm2d{filters, kernel_size} or conv_lstm2d{filters, kernel_size, {.return_sequences = true, ...}}"sv;

  using conv_lstm_layer::conv_lstm_layer;
};

}  // namespace stagecraft::layers
