// SPDX-License-Identifier: BSD-3-Clause
// What attention and additive_attention have in common. Keras counterpart: BaseDenseAttention.
#pragma once

#include <stagecraft/layers/option_layer.hpp>
#include <stagecraft/layers/recurrence.hpp>

namespace stagecraft::layers {

/// Keras's keyword arguments of Attention and AdditiveAttention.
template <bool UseScale>
struct dense_attention_options {
  bool use_scale = UseScale;  ///< whether scores are multiplied by a weight, `scale`
  bool causal = false;        ///< whether a place of the query sees only the places of the value that are not behind it
  float dropout = 0;          ///< the share of the attention's weights that training sets to 0
  /// The layer's name in summaries, errors and names of weights; empty: made from the class, as in Keras ("dense_1").
  fixed_name name = {};
  bool trainable = true;  ///< false: a frozen layer, whose weights training does not change
};

/// softmax(scores) value, where `Derived::scores(ops, query, key)` says how well each place of the query fits each of
/// the key. Inputs: the query, the value, and the key if it is not the value.
///
/// Shapes (places, features), (other places, features); result (places, features of the value). Cost: those of the
/// products. Errors: E1001 inputs; E1013 dropout; E1041 inputs of another rank; E1070 lengths that differ; E1073 masks.
template <class Derived, bool UseScale>
struct dense_attention : option_layer<Derived, dense_attention_options<UseScale>> {
  static constexpr bool supports_masking = true;
  static constexpr int least_inputs = 2, most_inputs = 3;

  using option_layer<Derived, dense_attention_options<UseScale>>::option_layer;

  [[nodiscard]] static constexpr bool passes_mask() { return false; }
  [[nodiscard]] static constexpr bool takes_no_mask() { return true; }

  constexpr auto call(auto& ops, tensor_list in) const {
    auto const &query = in[0], &value = in[1], &key = in.back();
    for (auto const& x : in)
      if (x.rank() != 3) return ops.error(1041, "expects inputs of shape (places, features)"), query;
    float const rate = this->options.dropout;
    if (!(rate >= 0.0F && rate < 1.0F)) ops.error(1013, "has a rate of dropout that is not at least 0 and below 1");
    auto scores = static_cast<Derived const&>(*this).scores(ops, query, key);
    if (this->options.causal) {
      operations::extents const places{scores.length(1), scores.length(2)};
      scores -= where(ops.iota(places, 1) <= ops.iota(places, 0), 0.0F, 1e9F);
    }
    return ops.matmul(detail::call_dropout(ops, ops.softmax(scores), rate, scores.shape()), value);
  }
};

}  // namespace stagecraft::layers
