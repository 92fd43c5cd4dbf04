// SPDX-License-Identifier: BSD-3-Clause
// In which of several ranges numbers lie: tf.keras.layers.Discretization.
#pragma once

#include <stagecraft/initializers/zeros.hpp>
#include <stagecraft/layers/number_list.hpp>
#include <stagecraft/layers/option_layer.hpp>

namespace stagecraft::layers {

/// Keras's keyword arguments of Discretization.
struct discretization_options {
  number_list bin_boundaries = {};  ///< where ranges begin, in ascending order; up to 32
  int num_bins = 0;       ///< or how many ranges there are, whose boundaries are a weight: see adapt of a trainer
  float epsilon = 0.01F;  ///< how exactly adapt follows the data; smaller is more exact and slower
  /// The layer's name in summaries, errors and names of weights; empty: made from the class, as in Keras ("dense_1").
  fixed_name name = {};
  bool trainable = true;  ///< false: a frozen layer, whose weights training does not change
  /// The type of the layer's weights and of what it computes, in place of the dtype_policy's.
  stagecraft::dtype dtype = stagecraft::dtype::of_policy;
};

/// output = how many boundaries are not above the input: 0 below the first one. No gradient flows through it.
///
/// Shape unchanged; whole numbers as floats, which embedding and category_encoding take. Weights: with `num_bins`
/// bin_boundaries (num_bins - 1), which training does not change; `trainer.adapt<"name">(data)` makes them. Cost: 2
/// FLOPs for each element and boundary. Errors: E1001; E1075 without boundaries, if they do not ascend or are more than
/// 32, or if both are given. Definition: Keras API, layers/preprocessing_layers/numerical/discretization.
struct discretization : option_layer<discretization, discretization_options, &discretization_options::bin_boundaries> {
  static constexpr std::string_view class_name = "Discretization";
  static constexpr std::string_view usage =
      "discretization{{.bin_boundaries = {0, 1, 2}, .name = ...}} or discretization{{.num_bins = 4}}"sv;

  using option_layer::option_layer;

  constexpr auto call(auto& ops, auto x) const {
    auto const& bounds = options.bin_boundaries;
    if (bounds.is_too_long())
      return ops.error(1075, "has ", bounds.count, " bin_boundaries, which are at most ", number_list::capacity), x;
    for (int i = 1; i < bounds.count; ++i)
      if (!(bounds.numbers[i - 1] < bounds.numbers[i]))
        return ops.error(1075, "has bin_boundaries that do not ascend, at number ", i), x;
    if (options.num_bins != 0) return by_weight(ops, x);
    if (bounds.empty()) return ops.error(1075, "has no bin_boundaries"), x;
    auto bin = x >= bounds.numbers[0];
    for (int i = 1; i < bounds.count; ++i) bin += x >= bounds.numbers[i];
    return bin;
  }

 private:
  constexpr auto by_weight(auto& ops, auto x) const {
    if (options.num_bins < 2 || !options.bin_boundaries.empty())
      return ops.error(1075, "has num_bins ", options.num_bins, " and ", options.bin_boundaries.count,
                       " bin_boundaries; give it boundaries, or at least 2 bins"),
             x;
    auto const bounds = ops.weight({.name = "bin_boundaries",
                                    .shape = {options.num_bins - 1},
                                    .initializer = initializers::zeros{},
                                    .trainable = false});
    operations::extents apart = x.shape();
    apart.push_back(1);
    return ops.reshape(ops.sum(ops.reshape(x, apart) >= bounds, -1), x.shape());
  }
};

}  // namespace stagecraft::layers
