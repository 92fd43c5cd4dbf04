// SPDX-License-Identifier: BSD-3-Clause
// Attention by products of places: tf.keras.layers.Attention.
#pragma once

#include <stagecraft/initializers/ones.hpp>
#include <stagecraft/layers/attention/dense_attention.hpp>

namespace stagecraft::layers {

/// softmax(query key^T * scale) value, after Luong; see dense_attention. The query has as many features as the key.
/// Weights: with `use_scale` scale (), which begins with 1.
/// Definition: Keras API, layers/attention_layers/attention.
struct attention : dense_attention<attention, false> {
  static constexpr std::string_view class_name = "Attention";
  static constexpr std::string_view usage = "attention{} or attention{{.use_scale = true, .name = ...}}"sv;

  using dense_attention<attention, false>::dense_attention;

  constexpr auto scores(auto& ops, auto query, auto key) const {
    auto const found = ops.matmul(query, key, {.transpose_b = true});
    if (!options.use_scale) return found;
    auto const scale = ops.weight({.name = "scale", .shape = {}, .initializer = initializers::ones{}});
    return found * scale;
  }
};

}  // namespace stagecraft::layers
