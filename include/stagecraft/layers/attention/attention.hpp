// SPDX-License-Identifier: BSD-3-Clause
// Attention by products and by sums of places: tf.keras.layers.Attention and AdditiveAttention.
// Keras counterpart of what they share: BaseDenseAttention.
#pragma once

#include <stagecraft/initializers/constant.hpp>
#include <stagecraft/initializers/variance_scaling.hpp>
#include <stagecraft/layers/option_layer.hpp>
#include <stagecraft/layers/output_part.hpp>
#include <stagecraft/layers/rnn/recurrence.hpp>
#include <stagecraft/layers/traced_call.hpp>

namespace stagecraft::layers::detail {

/// The number that is subtracted from a score that must not count.
inline constexpr float unseen_score = 1e9F;

/// The places where all of several conditions, 1 or 0, hold.
class seen_places {
 public:
  constexpr void require(operations::tensor condition) { all_ = is_limited() ? all_ * condition : condition; }
  /// A place of the query, (batch, places), sees nothing where its mask is 0, and nothing sees a place of the value
  /// where its mask is 0. Scores are (batch, places of the query, places of the value).
  constexpr void require_query(operations::tracer& ops, operations::tensor mask) {
    if (mask.list != nullptr) require(ops.reshape(mask, {mask.length(0), mask.length(1), 1}));
  }
  constexpr void require_value(operations::tracer& ops, operations::tensor mask) {
    if (mask.list != nullptr) require(ops.reshape(mask, {mask.length(0), 1, mask.length(1)}));
  }
  /// A place of the query sees the places of the value that are not after it.
  constexpr void require_causal(operations::tracer& ops, int query, int value) {
    operations::extents const places{query, value};
    require(ops.iota(places, 1) <= ops.iota(places, 0));
  }
  [[nodiscard]] constexpr bool is_limited() const { return all_.list != nullptr; }
  [[nodiscard]] constexpr operations::tensor all() const { return all_; }

 private:
  operations::tensor all_;
};

/// The scores, with -1e9 where `seen` is 0: in single precision, the score less 1e9. Gradients are those of the
/// difference. `seen` is broadcast.
constexpr operations::tensor hide(operations::tensor scores, operations::tensor seen) {
  return scores + stop_gradient(where(seen, 0.0F, -unseen_score - scores));
}

}  // namespace stagecraft::layers::detail

namespace stagecraft::layers {

/// Keras's keyword arguments of Attention and AdditiveAttention.
template <bool UseScale>
struct dense_attention_options {
  bool use_scale = UseScale;  ///< true if scores are multiplied by a weight, `scale`
  bool causal = false;        ///< true if a place of the query sees only the places of the value that are not after it
  float dropout = 0;          ///< the share of the attention's weights that training sets to 0
  bool return_attention_scores = false;  ///< true if the attention's weights are a second output
#include <stagecraft/layers/common_options.hpp>
};

/// softmax(scores) value, where `Derived::scores(ops, query, key)` returns how well each place of the query fits each
/// place of the key. Inputs: the query, the value, and the key if it is not the value.
///
/// Shapes (places, features), (other places, features); result (places, features of the value). Cost: the products.
/// Errors: E1001 inputs; E1013 dropout; E1041 inputs of another rank; E1070 lengths that differ. Masks: masked places
/// of the value are not seen; the result is 0 at masked places of the query.
template <class Derived, bool UseScale>
struct dense_attention
    : option_layer<Derived, dense_attention_options<UseScale>, &dense_attention_options<UseScale>::use_scale> {
  static constexpr bool supports_masking = true;
  static constexpr int masked_inputs = 2, most_outputs = 2;

  tracing::step_masks masks = {};  ///< masks of its first call, which the library finds

  using option_layer<Derived, dense_attention_options<UseScale>,
                     &dense_attention_options<UseScale>::use_scale>::option_layer;

  [[nodiscard]] static constexpr bool passes_mask() { return true; }
  [[nodiscard]] constexpr int output_count() const { return this->options.return_attention_scores ? 2 : 1; }

  constexpr auto call(operations::tracer& ops, tensor_list in) const { return call_masked(ops, in, {}); }
  constexpr operations::tensor call_masked(operations::tracer& ops, tensor_list in, mask_list const& counts) const {
    if (in.size() < 2 || in.size() > 3)
      return ops.error(1001, "takes 2 or 3 inputs, but is called with ", static_cast<int>(in.size())), in[0];
    auto const &query = in[0], &value = in[1], &key = in.back();
    for (auto const& x : in)
      if (x.rank() != 3) return ops.error(1041, "expects inputs of shape (places, features)"), query;
    float const rate = this->options.dropout;
    if (!(rate >= 0.0F && rate < 1.0F)) ops.error(1013, "has a rate of dropout that is not at least 0 and below 1");
    auto scores = static_cast<Derived const&>(*this).scores(ops, query, key);
    detail::seen_places seen;
    seen.require_value(ops, counts[1]);
    if (this->options.causal) seen.require_causal(ops, scores.length(1), scores.length(2));
    if (seen.is_limited()) scores = detail::hide(scores, seen.all());
    auto const weights = detail::call_dropout(ops, ops.softmax(scores), rate, scores.shape());
    auto result = ops.matmul(weights, value);
    if (counts[0].list != nullptr) result *= ops.reshape(counts[0], {query.length(0), query.length(1), 1});
    return output_count() == 1 ? result : ops.outputs({result, weights});
  }
};

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

/// Attention by sums of places: tf.keras.layers.AdditiveAttention.
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
