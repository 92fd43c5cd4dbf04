// SPDX-License-Identifier: BSD-3-Clause
// What the models of tf.keras.applications are made for: the keyword arguments of their functions.
#pragma once

namespace stagecraft::applications {

/// The arguments of a model of tf.keras.applications, as its template argument. Weights are loaded from Keras's files.
struct application_options {
  int height = 224, width = 224, channels = 3;  ///< the pictures' shape, `input_shape` in Keras
  int classes = 1000;                           ///< the units of the last layer
  /// Whether the layers that classify are there. Without them, the model gives the last feature map (height / 32,
  /// width / 32, channels), as with `pooling=None` in Keras.
  bool include_top = true;
};

}  // namespace stagecraft::applications
