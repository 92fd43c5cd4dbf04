// SPDX-License-Identifier: BSD-3-Clause
// Attention with several heads, along one axis or some: tf.keras.layers.MultiHeadAttention.
#pragma once

#include <stagecraft/graph/wrong_options.hpp>
#include <stagecraft/initializers/constant.hpp>
#include <stagecraft/initializers/variance_scaling.hpp>
#include <stagecraft/layers/attention/attention.hpp>
#include <stagecraft/layers/count_limit.hpp>
#include <stagecraft/layers/kept_steps.hpp>
#include <stagecraft/layers/layer.hpp>
#include <stagecraft/layers/output_part.hpp>
#include <stagecraft/layers/rnn/recurrence.hpp>
#include <stagecraft/operations/tracer.hpp>
#include <stagecraft/regularizers/regularizer.hpp>

namespace stagecraft::layers::detail {

constexpr bool is_attended(axis_list const& axes, int axis) {
  for (int const each : axes)
    if (each == axis) return true;
  return false;
}
/// The order of axes: the batch, axes that are not attended, attended axes, features.
constexpr axis_list attended_last(operations::extents const& from, axis_list const& axes) {
  axis_list order(0);
  for (int axis = 1; axis + 1 < from.rank; ++axis)
    if (!is_attended(axes, axis)) order.axes[order.count++] = axis;
  for (int const axis : axes) order.axes[order.count++] = axis;
  order.axes[order.count++] = from.rank - 1;
  return order;
}
/// x as (samples, places, features); axes that are not attended count as samples.
constexpr operations::tensor as_places(operations::tracer& ops, operations::tensor x, axis_list const& axes) {
  if (x.rank() == 3) return x;
  int places = 1;
  for (int const axis : axes) places *= x.length(axis);
  int const features = x.length(-1), samples = static_cast<int>(x.shape().size() / places / features);
  return ops.reshape(ops.transpose(x, attended_last(x.shape(), axes)), {samples, places, features});
}
/// The inverse of as_places: a tensor with the axes of `from`, and features of its own.
constexpr operations::tensor as_before(operations::tracer& ops, operations::tensor x, operations::extents const& from,
                                       axis_list const& axes) {
  if (from.rank == 3) return x;
  auto const order = attended_last(from, axes);
  operations::extents moved = from;
  axis_list back = order;
  for (int i = 0; i < order.count; ++i) {
    moved[i] = from[order.axes[i]];
    back.axes[order.axes[i]] = i;
  }
  moved[-1] = x.length(-1);
  return ops.transpose(ops.reshape(x, moved), back);
}
/// The extents of scores: (batch, axes that are not attended, heads, attended axes of the query, those of the key).
constexpr operations::extents scores_shape(operations::extents const& query, operations::extents const& key,
                                           axis_list const& axes, int heads) {
  operations::extents result{query[0]};
  auto const order = attended_last(query, axes);
  for (int i = 1; i + 1 < order.count - axes.count; ++i) result.push_back(query[order.axes[i]]);
  result.push_back(heads);
  for (int const axis : axes) result.push_back(query[axis]);
  for (int const axis : axes) result.push_back(key[axis]);
  return result;
}
/// A mask as (samples, places of the query, places of the key). `scores` is the shape that its scores have; as in
/// Keras, it may lack axes that are not attended, the last ones first, or have length 1 along any.
constexpr operations::tensor mask_of_places(operations::tracer& ops, operations::tensor mask,
                                            operations::extents scores, int attended,
                                            operations::extents const& places) {
  scores.erase(scores.rank - 2 * attended - 1);  // the heads
  operations::extents all = mask.shape();
  while (all.rank > 2 * attended && all.rank < scores.rank) all.insert(all.rank - 2 * attended, 1);
  if (all.rank != scores.rank)
    return ops.error(1070, "has a mask of shape ", mask.shape(), " for scores of ", scores), mask;
  return ops.reshape(ops.broadcast(ops.reshape(mask, all), scores), places);
}

}  // namespace stagecraft::layers::detail

namespace stagecraft::layers {

/// Keras's keyword arguments of MultiHeadAttention, and of its call.
struct multi_head_attention_options {
  /// The length of a head's values; 0: the length of its keys.
  int value_dim = 0;
  /// The share of the attention's weights that training sets to 0.
  float dropout = 0;
  /// True if the four products have weights `bias`.
  bool use_bias = true;
  /// The length of the result's last axis; 0: the length of the query's.
  int output_shape = 0;
  /// The axes whose places see each other: the batch is axis 0, the features are -1 (from the end, Keras counts an axis
  /// of heads as well). Other axes count as samples. None: all axes but the batch and the features.
  axis_list attention_axes = axis_list::none();
  /// The values that the kernels begin with.
  initializer kernel_initializer = initializers::glorot_uniform{};
  /// The values that the biases begin with.
  initializer bias_initializer = initializers::zeros{};
  /// A penalty on the kernels that is added to the loss: l1, l2 or both.
  regularizer kernel_regularizer = {};
  /// A penalty on the biases that is added to the loss: l1, l2 or both.
  regularizer bias_regularizer = {};
  /// A penalty on the output that is added to the loss, divided by the batch size: l1, l2 or both.
  regularizer activity_regularizer = {};
  /// The constraint on the kernels after each update: non_neg, max_norm and the like.
  constraint kernel_constraint = {};
  /// The constraint on the biases after each update: non_neg, max_norm and the like.
  constraint bias_constraint = {};
  /// True if a place of the query sees only the places of the value that are not after it.
  bool use_causal_mask = false;
  /// True if the last input is a mask (places of the query, places of the value): 1 where a place may be seen, else 0.
  bool attention_mask = false;
  /// True if the attention's weights (num_heads, places of the query, places of the value) are a second output.
  bool return_attention_scores = false;
  /// The number of steps before a call's that each step sees: their keys and values are kept from call to call, as a
  /// stateful layer keeps its states. 0: none.
  int kept_steps = 0;
#include <stagecraft/layers/common_options.hpp>
};

/// For each head: softmax(q k^T / sqrt(key_dim)) v, where q, k and v are products of the query, the key and the value
/// with kernels of their own; the heads side by side are multiplied by a last kernel.
///
/// Inputs: the query, which is the value as well if there is no other; the value; the key, if it is not the value.
/// Shapes (places, features), (other places, ...), where places have one axis or several. Result: (places, features of
/// the query). Weights, each a kernel and
/// a bias: query and key (features, num_heads, key_dim), value (features, num_heads, value_dim), attention_output
/// (num_heads, value_dim, features). Cost: the products. Errors: E1001 inputs; E1012 a size below 1; E1013
/// dropout; E1041 inputs of another rank, or scores of more than 8 axes, and masks of steps where
/// places have several axes; E1061 attention_axes; E1070 places that differ. Masks: a masked place of the query sees
/// nothing, and nothing sees masked places of the value and the key.
///
/// With `kept_steps`, and causal, calls go on where the one before ended, as those of a stateful conv1d do: each step
/// sees itself and the last `kept_steps` steps, but none before the first one after `reset_states`. So a decoder writes
/// one step a call, which reads the keys and values of earlier steps and computes none of them again. The states are
/// these, (batch, num_heads, kept_steps, ...), and which of them count. E1087 no batch size; E1154 inputs. Definition:
/// Keras API, layers/attention_layers/multi_head_attention; Vaswani and others, 2017.
struct multi_head_attention : layer<multi_head_attention> {
  static constexpr bool supports_masking = true;
  static constexpr int masked_inputs = 3, most_outputs = 2;
  static constexpr std::string_view class_name = "MultiHeadAttention";
  static constexpr std::string_view usage =
      "multi_head_attention{num_heads, key_dim} or multi_head_attention{num_heads, key_dim, {.dropout = 0.1F, .name = "
      "...}}"sv;

  int num_heads = 1;
  int key_dim = 1;
  using arguments = argument_list<&multi_head_attention::num_heads, &multi_head_attention::key_dim>;
  multi_head_attention_options options;
  tracing::step_masks masks = {};  ///< masks of its first call, which the library finds

  constexpr multi_head_attention(detail::whole_number num_heads_, detail::whole_number key_dim_,
                                 multi_head_attention_options const& options_ = {})
      : num_heads(num_heads_), key_dim(key_dim_), options(options_) {
    take_base_options(options);
  }

  using layer::layer;
  /// No argument, or any other: E1025.
  template <class L = multi_head_attention>
  constexpr explicit multi_head_attention(detail::wrong_options = {}, detail::wrong_options = {},
                                          detail::wrong_options = {}, detail::wrong_options = {})
      : multi_head_attention(1, 1) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  [[nodiscard]] static constexpr bool passes_mask() { return true; }
  [[nodiscard]] constexpr int output_count() const { return options.return_attention_scores ? 2 : 1; }

  constexpr auto call(operations::tracer& ops, tensor_list in) const { return call_masked(ops, in, {}); }
  constexpr operations::tensor call_masked(operations::tracer& ops, tensor_list in, mask_list const& counts) const {
    std::size_t const given = in.size() - (options.attention_mask ? 1U : 0U);
    auto const query = in[0], value = in[given > 1 ? 1 : 0], key = given > 2 ? in[2] : value;
    if (!is_possible(ops, in, given, counts)) return query;
    int const value_dim = options.value_dim == 0 ? key_dim : options.value_dim;
    auto const axes = axes_of(query);
    auto const of_query = detail::as_places(ops, query, axes);
    auto const of_key = detail::as_places(ops, key, axes), of_value = detail::as_places(ops, value, axes);
    auto const q = project(ops, of_query, "query", key_dim) * rsqrt(ops.full({1}, static_cast<float>(key_dim)));
    int const kept = options.kept_steps;
    auto const k = detail::with_kept_steps(ops, project(ops, of_key, "key", key_dim), kept, "states_0");
    auto const v = detail::with_kept_steps(ops, project(ops, of_value, "value", value_dim), kept, "states_1");
    auto scores = ops.matmul(q, k, {.transpose_b = true});  // (batch, heads, places of the query, places of the value)
    auto keys = key.shape();
    if (kept > 0) keys[1] += kept;
    auto const scores_shape = detail::scores_shape(query.shape(), keys, axes, num_heads);
    operations::extents const seen_shape{of_query.length(0), of_query.length(1), k.length(2)};
    if (auto const seen = seen_by_query(ops, in, given, counts, seen_shape, scores_shape); seen.is_limited()) {
      operations::extents of_heads = seen.all().shape();
      if (of_heads.rank == 3) of_heads.insert(1, 1);
      scores = detail::hide(scores, ops.reshape(seen.all(), of_heads));
    }
    auto const weights = detail::call_dropout(ops, ops.softmax(scores), options.dropout, scores.shape());
    auto const joined = ops.transpose(ops.matmul(weights, v), {0, 2, 1, 3});
    auto const result = join(ops, joined, options.output_shape == 0 ? query.length(-1) : options.output_shape);
    auto const apart = detail::as_before(ops, result, query.shape(), axes);
    if (output_count() == 1) return apart;
    return ops.outputs({apart, ops.reshape(weights, scores_shape)});
  }

 private:
  static constexpr bool is_masked_at_all(mask_list const& counts) {
    for (auto const& each : counts)
      if (each.list != nullptr) return true;
    return false;
  }
  constexpr bool axes_fit(operations::tensor x) const {
    int before = 0;
    for (int const axis : options.attention_axes) {
      int const at = x.shape().has(axis) ? x.shape().from_front(axis) : 0;
      if (at <= before || at >= x.rank() - 1) return false;
      before = at;
    }
    return true;
  }
  constexpr axis_list axes_of(operations::tensor x) const {
    axis_list axes = axis_list::none();
    for (int const axis : options.attention_axes) axes.axes[axes.count++] = x.shape().from_front(axis);
    for (int axis = 1; axis + 1 < x.rank() && options.attention_axes.count == 0; ++axis) axes.axes[axes.count++] = axis;
    return axes;
  }
  /// Combines the masks of the inputs, the input that is a mask, and causality.
  constexpr detail::seen_places seen_by_query(operations::tracer& ops, tensor_list in, std::size_t given,
                                              mask_list const& counts, operations::extents const& places,
                                              operations::extents const& scores) const {
    detail::seen_places seen;
    if (options.attention_mask) {
      int const rank = in[0].rank();
      seen.require(stop_gradient(
          rank == 3 ? in.back() : detail::mask_of_places(ops, in.back(), scores, scores.rank - rank, places)));
    }
    seen.require_query(ops, counts[0]);
    seen.require_value(ops, counts[given > 1 ? 1 : 0]);
    if (given > 2) seen.require_value(ops, counts[2]);
    if (options.kept_steps > 0)
      seen.require(seen_of_kept(ops, places));
    else if (options.use_causal_mask)
      seen.require_causal(ops, places[1], places[2]);
    return seen;
  }
  /// Each step sees itself and the last kept steps, as far as there have been any: (batch, steps, kept and own steps).
  constexpr operations::tensor seen_of_kept(operations::tracer& ops, operations::extents const& places) const {
    operations::extents const all{1, places[1], places[2]};
    auto const ahead = ops.iota(all, 2) - ops.iota(all, 1);  // of the first step that is seen
    auto const near = (ahead >= 0.0F) * (ahead <= static_cast<float>(options.kept_steps));
    auto const steps = ops.full({places[0], places[1], 1}, 1);
    auto const exist = detail::with_kept_steps(ops, steps, options.kept_steps, "states_2");
    return stop_gradient(near * ops.reshape(exist, {places[0], 1, places[2]}));
  }
  constexpr bool is_possible(operations::tracer& ops, tensor_list in, std::size_t given,
                             mask_list const& counts) const {
    if (given < 1 || given > 3)
      return ops.error(1001, "takes a query, a value and a key", options.attention_mask ? ", and a mask" : "",
                       ", but is called with ", static_cast<int>(in.size()), " tensors"),
             false;
    int const rank = in[0].rank();
    for (std::size_t i = 0; i < given; ++i)
      if (in[i].rank() < 3 || in[i].rank() > axis_list::capacity || in[i].rank() != rank)
        return ops.error(1041, "expects inputs of shape (places, features)"), false;
    if (!axes_fit(in[0]))
      return ops.error(1061, "has attention_axes ", options.attention_axes, ", which are not axes of places, in order"),
             false;
    auto const axes = axes_of(in[0]);
    if (rank + axes.count > operations::extents::max_rank)
      return ops.error(1041, "has scores of ", rank + axes.count, " axes, which are at most ",
                       operations::extents::max_rank),
             false;
    for (std::size_t i = 1; i < given; ++i)
      for (int axis = 1; axis + 1 < rank; ++axis)
        if (in[i].length(axis) != in[detail::is_attended(axes, axis) ? 1 : 0].length(axis))
          return ops.error(1070, "has inputs whose places differ along axis ", axis), false;
    constexpr int longest = shape::longest;
    bool const is_masked = (options.use_causal_mask && axes.count > 1) || is_masked_at_all(counts);
    if (is_masked && rank > 3)
      return ops.error(1041, "knows masks of steps, and an order, of places along one axis only"), false;
    constexpr int most_kept = 1 << 20;
    if (options.kept_steps < 0 || options.kept_steps > most_kept)
      return ops.error(1154, "keeps ", options.kept_steps, " steps; the number is at least 0 and at most ", most_kept),
             false;
    if (options.kept_steps > 0 && (!options.use_causal_mask || in.size() != 1 || rank != 3 || is_masked_at_all(counts)))
      return ops.error(1154, "keeps steps; it has use_causal_mask and one input of shape (steps, features), without ",
                       "a mask"),
             false;
    if (num_heads < 1 || key_dim < 1 || options.value_dim < 0 || options.output_shape < 0)
      ops.error(1012, "has ", num_heads, " heads of length ", key_dim, "; all lengths must be at least 1");
    else if (int const length = key_dim < options.value_dim ? options.value_dim : key_dim; longest / num_heads < length)
      ops.error(1012, "has ", num_heads, " heads of length ", length, "; all of them together are at most ", longest,
                " long");
    else if (options.output_shape > longest)
      ops.error(1012, "has an output_shape of ", options.output_shape, "; it needs ",
                detail::count_limit(options.output_shape));
    else if (!(options.dropout >= 0.0F && options.dropout < 1.0F))
      ops.error(1013, "has a rate of dropout that is not at least 0 and below 1");
    else
      return true;
    return false;
  }
  /// (batch, places, features) to (batch, heads, places, size).
  constexpr operations::tensor project(operations::tracer& ops, operations::tensor x, std::string_view name,
                                       int size) const {
    int const batch = x.length(0), places = x.length(1), features = x.length(2);
    return ops.name_scope(name, [&] {
      auto const kernel = make_kernel(ops, {features, num_heads, size});
      auto y =
          ops.matmul(ops.reshape(x, {batch * places, features}), ops.reshape(kernel, {features, num_heads * size}));
      if (options.use_bias) y += ops.reshape(make_bias(ops, {num_heads, size}), {num_heads * size});
      return ops.transpose(ops.reshape(y, {batch, places, num_heads, size}), {0, 2, 1, 3});
    });
  }
  /// (batch, places, heads, size) to (batch, places, features).
  constexpr operations::tensor join(operations::tracer& ops, operations::tensor x, int features) const {
    int const batch = x.length(0), places = x.length(1), size = x.length(3);
    return ops.name_scope("attention_output", [&] {
      auto const kernel = make_kernel(ops, {num_heads, size, features});
      auto y = ops.matmul(ops.reshape(x, {batch * places, num_heads * size}),
                          ops.reshape(kernel, {num_heads * size, features}));
      if (options.use_bias) y += make_bias(ops, {features});
      return ops.reshape(y, {batch, places, features});
    });
  }
  constexpr operations::tensor make_kernel(operations::tracer& ops, shape const& of) const {
    return ops.weight(parameter::with("kernel", of, options.kernel_initializer, options.kernel_regularizer,
                                      options.kernel_constraint));
  }
  constexpr operations::tensor make_bias(operations::tracer& ops, shape const& of) const {
    return ops.weight(
        parameter::with("bias", of, options.bias_initializer, options.bias_regularizer, options.bias_constraint));
  }
};

}  // namespace stagecraft::layers
