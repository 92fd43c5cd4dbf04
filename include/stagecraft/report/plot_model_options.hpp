// SPDX-License-Identifier: BSD-3-Clause
// The options of a model's picture: the arguments of Keras's plot_model.
#pragma once

#include <string_view>

namespace stagecraft {

/// The direction in which a model's picture is read: from top to bottom or from left to right.
enum class rankdir : unsigned char { tb, lr };

/// Names and defaults are Keras's. Its `dpi` has no meaning here: the picture has no pixels.
struct plot_model_options {
  /// Whether each box has its layer's input and output shapes.
  bool show_shapes = false;
  /// Whether each box has its layer's type of numbers.
  bool show_dtype = false;
  /// Whether each box has its layer's name.
  bool show_layer_names = true;
  /// Whether the picture is read from top to bottom or from left to right.
  stagecraft::rankdir rankdir = stagecraft::rankdir::tb;
  /// Whether nested models are frames with their own layers, or one box each.
  bool expand_nested = false;
  /// The names of the first and the last layer, or nested model, that are shown of the model, in Keras's order; empty:
  /// all are.
  struct layers {
    std::string_view first = {}, last = {};
  } layer_range = {};
};

}  // namespace stagecraft
