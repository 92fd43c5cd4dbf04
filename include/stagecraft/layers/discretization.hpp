// SPDX-License-Identifier: BSD-3-Clause
// In which of several ranges numbers lie: tf.keras.layers.Discretization.
#pragma once

#include <stagecraft/layers/number_list.hpp>
#include <stagecraft/layers/option_layer.hpp>

namespace stagecraft::layers {

/// Keras's keyword arguments of Discretization.
struct discretization_options {
  number_list bin_boundaries = {};  ///< where ranges begin, in ascending order
  /// The layer's name in summaries, errors and names of weights; empty: made from the class, as in Keras ("dense_1").
  fixed_name name = {};
  bool trainable = true;  ///< false: a frozen layer, whose weights training does not change
};

/// output = how many boundaries are not above the input: 0 below the first one. No gradient flows through it.
///
/// Shape unchanged; whole numbers as floats, which embedding and category_encoding take. No weights. Cost: 2 FLOPs for
/// each element and boundary. Errors: E1001; E1075 without boundaries, or if they do not ascend.
/// Definition: Keras API, layers/preprocessing_layers/numerical/discretization.
struct discretization : option_layer<discretization, discretization_options> {
  static constexpr std::string_view class_name = "Discretization";
  static constexpr std::string_view usage = "discretization{{.bin_boundaries = {0, 1, 2}, .name = ...}}";

  using option_layer::option_layer;

  constexpr auto call(auto& ops, auto x) const {
    auto const& bounds = options.bin_boundaries;
    for (int i = 1; i < bounds.count; ++i)
      if (!(bounds.numbers[i - 1] < bounds.numbers[i]))
        return ops.error(1075, "has bin_boundaries that do not ascend, at number ", i), x;
    if (bounds.empty()) return ops.error(1075, "has no bin_boundaries"), x;
    auto bin = x >= bounds.numbers[0];
    for (int i = 1; i < bounds.count; ++i) bin += x >= bounds.numbers[i];
    return bin;
  }
};

}  // namespace stagecraft::layers
