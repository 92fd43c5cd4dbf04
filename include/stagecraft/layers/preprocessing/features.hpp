// SPDX-License-Identifier: BSD-3-Clause
// Layers that prepare numbers and categories: tf.keras.layers.Normalization, Discretization and CategoryEncoding.
#pragma once

#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/graph/shape.hpp>
#include <stagecraft/graph/wrong_options.hpp>
#include <stagecraft/initializers/constant.hpp>
#include <stagecraft/layers/count_limit.hpp>
#include <stagecraft/layers/layer.hpp>
#include <stagecraft/layers/number_list.hpp>
#include <stagecraft/layers/option_layer.hpp>

namespace stagecraft::layers {

/// Keras's keyword arguments of Normalization.
struct normalization_options {
  /// The axes whose elements have a mean and a variance of their own, in any order; weights have them in ascending
  /// order. `axis_list::none()`: one mean for all. 0 is the batch, -1 the last.
  axis_list axis = -1;
  number_list mean = {};      ///< the mean, or one for each element of the axes; empty: a weight
  number_list variance = {};  ///< the variance, or one for each element of the axes
#include <stagecraft/layers/common_options.hpp>
};

/// Brings inputs to mean 0 and variance 1, by statistics of the data: tf.keras.layers.Normalization.
/// output = (input - mean) / max(sqrt(variance), 1e-7).
///
/// Shape unchanged. Weights, if `mean` is not given: mean, variance, both of the lengths of the axes, and count (),
/// which training does not change: `trainer.adapt<"name">(data)` computes them. Cost: 2 FLOPs per element. Errors:
/// E1001; E1050 for an axis that the input does not have, or the batch; E1075 for a mean without variance, of another
/// length, or of more than 32 numbers. Definition: Keras API, layers/preprocessing_layers/numerical/normalization.
struct normalization : option_layer<normalization, normalization_options, &normalization_options::axis> {
  static constexpr std::string_view class_name = "Normalization";
  static constexpr std::string_view usage =
      "normalization{}, normalization{{.axis = {1, 2}}} or normalization{{.mean = 3, .variance = 2, .name = ...}}"sv;

  using option_layer::option_layer;

  /// The axes of `axis` in a batch with `rank` axes, each once, counted from the front.
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

/// Keras's keyword arguments of Discretization.
struct discretization_options {
  number_list bin_boundaries = {};  ///< the begins of the ranges in ascending order; up to 32
  int num_bins = 0;                 ///< or the number of ranges, whose boundaries are a weight: see a trainer's adapt
  float epsilon = 0.01F;            ///< the error with which adapt follows the data; a smaller one is slower
#include <stagecraft/layers/common_options.hpp>
};

/// The number of the range in which each number lies: tf.keras.layers.Discretization.
/// output = the number of boundaries that are not above the input: 0 below the first one. No gradient flows through it.
///
/// Shape unchanged; whole numbers as floats, which embedding and category_encoding take. Weights: with `num_bins`
/// bin_boundaries (num_bins - 1), which training does not change; `trainer.adapt<"name">(data)` computes them. Cost: 2
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

namespace stagecraft {

/// The vectors that category_encoding makes of a sample's numbers.
enum class output_mode : unsigned char {
  multi_hot,  ///< one vector for all of them, with ones at their places
  one_hot,    ///< a vector for each; a last axis of length 1 becomes the vector
  count,      ///< one vector of how often each number occurs, or of the sums of its weights
};

}  // namespace stagecraft

namespace stagecraft::layers {

/// Keras's keyword arguments of CategoryEncoding after the number of tokens.
struct category_encoding_options {
  stagecraft::output_mode output_mode = output_mode::multi_hot;  ///< the vectors that several numbers become
#include <stagecraft/layers/common_options.hpp>
};

/// Whole numbers as vectors of ones and zeros: tf.keras.layers.CategoryEncoding.
/// Each number of a sample becomes a one at its place among `num_tokens`; a number outside has none (TensorFlow: an
/// error). With `count`, a second input of the same shape weighs the numbers. No gradient flows to the numbers.
///
/// Shape: (numbers) to (num_tokens); with one_hot (..., num_tokens). No weights. Errors: E1001; E1012 without tokens;
/// E1041 for an input of another number of axes. Definition: Keras API, layers/preprocessing_layers/categorical.
struct category_encoding : argument_layer<category_encoding, category_encoding_options> {
  static constexpr std::string_view class_name = "CategoryEncoding";
  static constexpr std::string_view usage =
      "category_encoding{num_tokens} or category_encoding{num_tokens, {.output_mode = sc::output_mode::one_hot}}"sv;
  static constexpr int least_inputs = 1, most_inputs = 2;

  int num_tokens = 1;
  using arguments = argument_list<&category_encoding::num_tokens>;

  constexpr explicit category_encoding(detail::whole_number num_tokens_, category_encoding_options const& options_ = {})
      : argument_layer(with{}, options_), num_tokens(num_tokens_) {}
  using argument_layer::argument_layer;

  constexpr auto call(auto& ops, tensor_list in) const {
    auto x = in[0];
    bool const is_one_hot = options.output_mode == output_mode::one_hot;
    if (!detail::are_counts(num_tokens))
      return ops.error(1012, "has ", num_tokens, " tokens; it needs ", detail::count_limit(num_tokens)), x;
    if (x.rank() < 2 || (!is_one_hot && x.rank() != 2) || x.rank() == operations::extents::max_rank)
      return ops.error(1041, "expects an input of shape (numbers,), but got ", detail::sample_shape(x)), x;
    if (in.size() > 1 && options.output_mode != output_mode::count)
      return ops.error(1001, "takes weights as a second input only with output_mode::count"), x;
    auto apart = x.shape();
    if (!is_one_hot || apart[-1] != 1) apart.push_back(1);
    auto const each = equal(ops.reshape(x, apart), ops.iota({num_tokens}));
    if (is_one_hot) return each;
    auto const all = options.output_mode == output_mode::multi_hot ? ops.max(each, 1)
                     : in.size() > 1                               ? ops.sum(each * ops.reshape(in[1], apart), 1)
                                                                   : ops.sum(each, 1);
    return ops.reshape(all, {x.length(0), num_tokens});
  }
};

}  // namespace stagecraft::layers
