// SPDX-License-Identifier: BSD-3-Clause
// A table of vectors, one for each whole number: tf.keras.layers.Embedding.
#pragma once

#include <stagecraft/graph/wrong_options.hpp>
#include <stagecraft/initializers/random.hpp>
#include <stagecraft/layers/count_limit.hpp>
#include <stagecraft/layers/layer.hpp>
#include <stagecraft/regularizers/regularizer.hpp>

namespace stagecraft::layers {

/// Keras's keyword arguments of Embedding.
struct embedding_options {
  /// The values that the table begins with.
  initializer embeddings_initializer = initializers::random_uniform{};
  /// A penalty on the table that is added to the loss: l1, l2 or both.
  regularizer embeddings_regularizer = {};
  /// A penalty on the output that is added to the loss, divided by the batch size: l1, l2 or both.
  regularizer activity_regularizer = {};
  /// The constraint on the table after each update: non_neg, max_norm and the like.
  constraint embeddings_constraint = {};
  /// True if 0 is no word, but fills up sequences: later layers leave such steps out, as after `masking`.
  bool mask_zero = false;
  /// Number of parts of the table that are looked up one after the other, with less memory on an IPU: Graphcore's
  /// option.
  int serialization_factor = 1;
#include <stagecraft/layers/common_options.hpp>
};

/// output = the rows of a table that the input names. The input holds whole numbers from 0 to input_dim - 1, in any
/// element type; those above 2^24 are exact if the input has the type int32. A number outside is E4157 in an input of
/// the model, and returns zeros where another layer has computed it.
///
/// Shape: (...) to (..., output_dim). Weights: embeddings (input_dim, output_dim). Cost: none forward.
/// Errors: E1012 if a dimension is below 1; E1078 if serialization_factor does not divide input_dim; E1041 with
/// `mask_zero`, if the input is not a sequence. Definition: Keras API, layers/core_layers/embedding.
struct embedding : layer<embedding> {
  static constexpr bool supports_masking = true;
  static constexpr std::string_view class_name = "Embedding";
  static constexpr std::string_view usage =
      "embedding{input_dim, output_dim} or embedding{input_dim, output_dim, {.name = ...}}"sv;

  int input_dim = 1;
  int output_dim = 1;
  using arguments = argument_list<&embedding::input_dim, &embedding::output_dim>;
  embedding_options options;

  constexpr embedding(detail::whole_number input_dim_, detail::whole_number output_dim_,
                      embedding_options const& options_ = {})
      : input_dim(input_dim_), output_dim(output_dim_), options(options_) {
    take_base_options(options);
  }

  using layer::layer;
  /// No argument, or any other: E1025.
  template <class L = embedding>
  constexpr explicit embedding(detail::wrong_options = {}, detail::wrong_options = {}, detail::wrong_options = {},
                               detail::wrong_options = {})
      : embedding(1, 1) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  [[nodiscard]] constexpr tracing::mask_rule compute_mask() const { return {0, false, !options.mask_zero}; }

  constexpr auto call(auto& ops, auto x) const {
    if (options.mask_zero && x.rank() != 2)
      ops.error(1041, "has mask_zero, and expects an input of shape (steps,) then");
    if (!detail::are_counts(input_dim, output_dim))
      return ops.error(1012, "has a table of ", input_dim, " rows and ", output_dim, " columns; both must be ",
                       detail::count_limit(input_dim, output_dim)),
             x;
    auto const table = ops.weight(parameter::with("embeddings", {input_dim, output_dim}, options.embeddings_initializer,
                                                  options.embeddings_regularizer, options.embeddings_constraint));
    int const parts = options.serialization_factor;
    if (parts < 1 || input_dim % parts != 0)
      return ops.error(1078, "has a serialization_factor of ", parts, ", which does not divide input_dim, ", input_dim),
             x;
    if (parts > 4096)  // each part is an operation of its own
      return ops.error(1078, "has a serialization_factor of ", parts, "; it is at most 4096"), x;
    if (parts == 1) return ops.take(table, x);
    int const rows = input_dim / parts;
    auto result = ops.take(ops.slice(table, 0, 0, rows), x);  // zeros for rows of other parts
    for (int part = 1; part < parts; ++part)
      result += ops.take(ops.slice(table, 0, part * rows, rows), x - static_cast<float>(part * rows));
    return result;
  }
};

}  // namespace stagecraft::layers
