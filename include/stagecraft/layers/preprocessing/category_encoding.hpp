// SPDX-License-Identifier: BSD-3-Clause
// Whole numbers as vectors of ones and zeros: tf.keras.layers.CategoryEncoding.
#pragma once

#include <stagecraft/graph/wrong_options.hpp>
#include <stagecraft/layers/argument_layer.hpp>
#include <stagecraft/layers/argument_list.hpp>
#include <stagecraft/layers/count_limit.hpp>

namespace stagecraft {

/// What category_encoding makes of the numbers of a sample.
enum class output_mode : unsigned char {
  multi_hot,  ///< one vector for all of them, with ones at their places
  one_hot,    ///< a vector for each; a last axis of length 1 becomes the vector
  count,      ///< one vector that says how often each occurs, or the sum of the weights
};

}  // namespace stagecraft

namespace stagecraft::layers {

/// Keras's keyword arguments of CategoryEncoding behind the number of tokens.
struct category_encoding_options {
  stagecraft::output_mode output_mode = output_mode::multi_hot;  ///< what becomes of several numbers
  /// The layer's name in summaries, errors and names of weights; empty: made from the class, as in Keras ("dense_1").
  fixed_name name = {};
  bool trainable = true;  ///< false: a frozen layer, whose weights training does not change
  /// The type of the layer's weights and of what it computes, in place of the dtype_policy's.
  stagecraft::dtype dtype = stagecraft::dtype::of_policy;
};

/// A one for each number of a sample at its place among `num_tokens`; a number outside has none (TensorFlow: an error).
/// With `count`, a second input of the same shape weighs the numbers. No gradient flows to the numbers.
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
