// SPDX-License-Identifier: BSD-3-Clause
// Long short-term memory for sequences: tf.keras.layers.ConvLSTM1D.
#pragma once

#include <stagecraft/layers/rnn/conv_lstm_layer.hpp>

namespace stagecraft::layers {

using conv_lstm1d_options = conv_lstm_options<int>;

/// See conv_lstm_layer. Shape of the input: (steps, length, channels).
/// Definition: Keras API, layers/recurrent_layers/conv_lstm1d.
struct conv_lstm1d : conv_lstm_layer<conv_lstm1d, int> {
  static constexpr std::string_view class_name = "ConvLSTM1D";
  static constexpr std::string_view usage =
      "conv_lstm1d{filters, kernel_size} or conv_lstm1d{filters, kernel_size, {.return_sequences = true, ...}}"sv;

  using conv_lstm_layer::conv_lstm_layer;
};

}  // namespace stagecraft::layers
