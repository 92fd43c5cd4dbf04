// SPDX-License-Identifier: BSD-3-Clause
// A recurrent layer in both directions of time: tf.keras.layers.Bidirectional.
#pragma once

#include <stagecraft/graph/layer_names.hpp>
#include <stagecraft/layers/activity_penalty.hpp>
#include <stagecraft/layers/rnn/recurrent_layer.hpp>
#include <cstddef>
#include <string_view>

namespace stagecraft::layers {

/// Keras's `merge_mode`: what becomes of the two results.
enum class merge_mode : unsigned char {
  concat,
  sum,
  mul,
  ave,
  none  ///< nothing: a call has both, `y.all[0]` and `y.all[1]`
};

/// Keras's keyword arguments of Bidirectional.
struct bidirectional_options {
  /// How the results of the two directions become one.
  layers::merge_mode merge_mode = merge_mode::concat;
  /// The layer's name in summaries, errors and names of weights; empty: made from the class, as in Keras ("dense_1").
  fixed_name name = {};
  bool trainable = true;  ///< false: a frozen layer, whose weights training does not change
  /// The type of the layer's weights and of what it computes, in place of the dtype_policy's.
  stagecraft::dtype dtype = stagecraft::dtype::of_policy;
};

/// `recurrent` once as it is, and once from the other end with weights of its own; a sequence of the second one is
/// turned round before both are merged. Sequences have zeros where steps are masked, as in Keras.
///
/// Shape: (steps, features) to that of `recurrent`, twice as wide with `concat`, and two of them with `none`; if
/// `recurrent` has `return_state`, its states forward and then backward as well. Called on x and all these states, it
/// begins with them. Weights: those of both, named "forward_lstm/kernel" and "backward_lstm/kernel". Cost: that of
/// both. Errors: those of `recurrent`. Definition: Keras API, layers/recurrent_layers/bidirectional.
template <class Recurrent>
  requires requires(Recurrent const& each) {
    each.options.go_backwards;
    Recurrent::state_count;
  }
struct bidirectional
    : recurrent_layer<layer<bidirectional<Recurrent>>, bidirectional<Recurrent>, 2 * Recurrent::state_count> {
  static constexpr std::string_view class_name = "Bidirectional";
  static constexpr std::string_view usage =
      "bidirectional{lstm{units}} or bidirectional{lstm{units}, {.merge_mode = merge_mode::sum, .name = ...}}"sv;

  static constexpr std::size_t states = Recurrent::state_count;  ///< of each direction

  Recurrent recurrent;
  bidirectional_options options;

  constexpr explicit bidirectional(Recurrent const& recurrent_, bidirectional_options const& options_ = {})
      : recurrent(recurrent_), options(options_) {
    this->layer_name = options.name;
    this->trainable = options.trainable;
    this->is_on_host = recurrent.is_on_host;
    this->layer_dtype = options.dtype == dtype::of_policy ? recurrent.layer_dtype : options.dtype;
  }

  /// Keras's `layer`.
  [[nodiscard]] constexpr Recurrent const& wrapped() const { return recurrent; }

  [[nodiscard]] constexpr bool passes_mask() const { return recurrent.passes_mask(); }
  static constexpr int most_outputs = 2 + 2 * states, named_outputs = 1 + 2 * states;
  /// How many outputs a call has, and how many of them, the first ones, are sequences or their ends.
  [[nodiscard]] constexpr int output_count() const {
    return masked_outputs() + (recurrent.options.return_state ? static_cast<int>(2 * states) : 0);
  }
  [[nodiscard]] constexpr int masked_outputs() const { return options.merge_mode == merge_mode::none ? 2 : 1; }
  /// See recurrent_layer.
  constexpr detail::recurrent_result<2 * Recurrent::state_count> run(operations::tracer& ops, operations::tensor x,
                                                                     operations::tensor mask,
                                                                     tensor_list initial) const {
    auto const one_way = [&](std::string_view prefix, bool turned) {
      auto one = recurrent;
      one.options.go_backwards = recurrent.options.go_backwards != turned;
      fixed_name scope(prefix);
      scope.append(recurrent.layer_name.empty() ? detail::snake_case(Recurrent::class_name) : recurrent.layer_name);
      auto const own = initial.empty() ? initial : initial.subspan(turned ? states : 0, states);
      auto done = ops.name_scope(scope, [&] { return one.run(ops, x, mask, own); });
      if (turned && recurrent.options.return_sequences) done.output = ops.flip(done.output, 1);
      return done;
    };
    auto const to_the_end = one_way("forward_", false), to_the_front = one_way("backward_", true);
    auto forward = to_the_end.output, backward = to_the_front.output;
    detail::recurrent_result<2 * Recurrent::state_count> result{x};
    if (ops.list().problem.failed()) return result;
    for (std::size_t i = 0; i < states; ++i) {
      result.states[i] = to_the_end.states[i];
      result.states[states + i] = to_the_front.states[i];
    }
    if (mask.list != nullptr && recurrent.options.return_sequences) {  // here Keras gives zeros for steps left out
      auto const counts = ops.reshape(mask, {mask.length(0), mask.length(1), 1});
      auto const in_order = recurrent.options.go_backwards ? ops.flip(counts, 1) : counts;
      forward = forward * in_order;
      backward = backward * in_order;
    }
    if (auto const rule = detail::activity_regularizer_of(recurrent); !rule.empty()) {
      add_penalty(ops, forward, rule);
      add_penalty(ops, backward, rule);
      if (recurrent.options.return_state)
        for (auto const& state : result.states) add_penalty(ops, state, rule);
    }
    switch (options.merge_mode) {
      case merge_mode::sum: result.output = forward + backward; break;
      case merge_mode::mul: result.output = forward * backward; break;
      case merge_mode::none:
        result.output = forward;
        result.second = backward;
        break;
      case merge_mode::ave: result.output = (forward + backward) * 0.5F; break;
      default: result.output = ops.concatenate({forward, backward});
    }
    return result;
  }

 private:
  static constexpr void add_penalty(operations::tracer& ops, operations::tensor x, regularizer const& rule) {
    if (rule.is_own()) ops.error(1100, "has an activity_regularizer of your own inside");
    ops.add_loss(activity_penalty(rule.l1, rule.l2).call(ops, x));
  }
};

template <class Recurrent>
bidirectional(Recurrent) -> bidirectional<Recurrent>;
template <class Recurrent>
bidirectional(Recurrent, bidirectional_options) -> bidirectional<Recurrent>;

}  // namespace stagecraft::layers
