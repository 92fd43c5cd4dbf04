// SPDX-License-Identifier: BSD-3-Clause
// Brings inputs to mean 0 and variance 1, by statistics of the data: tf.keras.layers.Normalization.
#pragma once

#include <stagecraft/graph/axis_list.hpp>
#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/initializers/ones.hpp>
#include <stagecraft/initializers/zeros.hpp>
#include <stagecraft/layers/number_list.hpp>
#include <stagecraft/layers/option_layer.hpp>

namespace stagecraft::layers {

/// Keras's keyword arguments of Normalization.
struct normalization_options {
  /// The axes whose elements have a mean and a variance of their own, in any order, which weights have ascending;
  /// `axis_list::none()`: one for all. 0 is the batch, -1 the last.
  axis_list axis = -1;
  number_list mean = {};      ///< the mean, or one for each element of the axes; without it, a weight
  number_list variance = {};  ///< the variance likewise
  /// The layer's name in summaries, errors and names of weights; empty: made from the class, as in Keras ("dense_1").
  fixed_name name = {};
  bool trainable = true;  ///< false: a frozen layer, whose weights training does not change
  /// The type of the layer's weights and of what it computes, in place of the dtype_policy's.
  stagecraft::dtype dtype = stagecraft::dtype::of_policy;
};

/// output = (input - mean) / sqrt(variance), of which at least 1e-7 counts.
///
/// Shape unchanged. Weights, if `mean` is not given: mean, variance, both of the lengths of the axes, and count (),
/// which training does not change: `trainer.adapt<"name">(data)` makes them. Cost: 2 FLOPs per element. Errors: E1001;
/// E1050 for an axis that the input does not have, or the batch; E1075 for a mean without variance, of another
/// length, or of more than 32 numbers. Definition: Keras API, layers/preprocessing_layers/numerical/normalization.
struct normalization : option_layer<normalization, normalization_options, &normalization_options::axis> {
  static constexpr std::string_view class_name = "Normalization";
  static constexpr std::string_view usage =
      "normalization{}, normalization{{.axis = {1, 2}}} or normalization{{.mean = 3, .variance = 2, .name = ...}}"sv;

  using option_layer::option_layer;

  /// `axis` of a batch with `rank` axes, each one once, counted from the front.
  [[nodiscard]] constexpr axis_list ascending_axes(int rank) const {
    auto result = axis_list::none();
    for (int axis = 0; axis < rank; ++axis) {
      bool is_given = false;
      for (int const each : options.axis) is_given = is_given || (each < 0 ? each + rank : each) == axis;
      if (is_given) result.axes[result.count++] = axis;
    }
    return result;
  }

  constexpr auto call(auto& ops, auto x) const {
    operations::extents aligned = x.shape();
    for (int axis = 0; axis < x.rank(); ++axis) aligned[axis] = 1;
    for (int const axis : options.axis) {
      if (!x.shape().has(axis) || x.shape().from_front(axis) == 0)
        return ops.error(1050, "normalizes along axis ", axis, ", which is no axis of a sample of shape ",
                         detail::sample_shape(x)),
               x;
      aligned[axis] = x.length(axis);
    }
    shape lengths;
    for (int const axis : ascending_axes(x.rank())) lengths.push_back(aligned[axis]);
    if (options.mean.is_too_long() || options.variance.is_too_long())
      return ops.error(1075, "has a mean of ", options.mean.count, " and a variance of ", options.variance.count,
                       " numbers, which are at most ", number_list::capacity),
             x;
    auto const fits = [&](number_list const& given) { return given.count == 1 || given.count == lengths.size(); };
    if (!options.mean.empty() || !options.variance.empty()) {
      if (!fits(options.mean) || !fits(options.variance))
        return ops.error(1075, "has a mean of ", options.mean.count, " and a variance of ", options.variance.count,
                         " numbers; each must be 1 or ", lengths.size()),
               x;
      return scaled(x, constant(ops, options.mean, aligned), constant(ops, options.variance, aligned));
    }
    auto const mean =
        ops.weight({.name = "mean", .shape = lengths, .initializer = initializers::zeros{}, .trainable = false});
    auto const variance =
        ops.weight({.name = "variance", .shape = lengths, .initializer = initializers::ones{}, .trainable = false});
    ops.weight({.name = "count", .shape = {}, .initializer = initializers::zeros{}, .trainable = false});
    return scaled(x, ops.reshape(mean, aligned), ops.reshape(variance, aligned));
  }

 private:
  static constexpr auto scaled(auto x, auto mean, auto variance) {
    return (x - mean) / stagecraft::maximum(sqrt(variance), 1e-7F);
  }
  static constexpr auto constant(auto& ops, number_list const& given, operations::extents const& aligned) {
    if (given.count == 1) return ops.full({1}, given.numbers[0]);
    return ops.reshape(given.as_tensor(ops), aligned);
  }
};

}  // namespace stagecraft::layers
