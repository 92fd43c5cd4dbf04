// SPDX-License-Identifier: BSD-3-Clause
// Attention by sums of places: tf.keras.layers.AdditiveAttention.
#pragma once

#include <stagecraft/initializers/glorot_uniform.hpp>
#include <stagecraft/layers/attention/dense_attention.hpp>

namespace stagecraft::layers {

/// softmax(sum(scale * tanh(query + key))) value, after Bahdanau, with the sum over features; see dense_attention. The
/// query has as many features as the key. Weights: with `use_scale`, which is the default, scale (features).
/// Definition: Keras API, layers/attention_layers/additive_attention.
struct additive_attention : dense_attention<additive_attention, true> {
  static constexpr std::string_view class_name = "AdditiveAttention";
  static constexpr std::string_view usage =
      "additive_attention{} or additive_attention{{.use_scale = false, .name = ...}}"sv;

  using dense_attention<additive_attention, true>::dense_attention;

  constexpr auto scores(auto& ops, auto query, auto key) const {
    int const batch = query.length(0), places = query.length(1), others = key.length(1), features = query.length(2);
    auto terms =
        tanh(ops.reshape(query, {batch, places, 1, features}) + ops.reshape(key, {batch, 1, others, features}));
    if (options.use_scale)
      terms *= ops.weight({.name = "scale", .shape = {features}, .initializer = initializers::glorot_uniform{}});
    return ops.reshape(ops.sum(terms, -1), {batch, places, others});
  }
};

}  // namespace stagecraft::layers
