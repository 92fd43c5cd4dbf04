// SPDX-License-Identifier: BSD-3-Clause
// A recurrent layer in both directions of time: tf.keras.layers.Bidirectional.
#pragma once

#include <stagecraft/graph/layer_names.hpp>
#include <stagecraft/layers/regularization/activity_regularization.hpp>
#include <stagecraft/layers/rnn/recurrent_layer.hpp>
#include <cstddef>
#include <string_view>

namespace stagecraft::layers {

/// Keras's `merge_mode`: how the two results become one.
enum class merge_mode : unsigned char {
  concat,
  sum,
  mul,
  ave,
  none  ///< they stay apart: a call has both, `y.all[0]` and `y.all[1]`
};

/// Keras's keyword arguments of Bidirectional.
struct bidirectional_options {
  /// The rule that makes one result of those of the two directions.
  layers::merge_mode merge_mode = merge_mode::concat;
#include <stagecraft/layers/common_options.hpp>
};

/// `recurrent` once as it is, and once from the other end with weights of its own, or another layer, `backward_layer`,
/// from there: `bidirectional{lstm{8}, lstm{4, {.go_backwards = true}}}`. The second result, if it is a sequence, is
/// reversed before both are merged. Sequences have zeros where steps are masked, as in Keras.
///
/// Shape: (steps, features) to that of `recurrent`, twice as wide with `concat`, and two of them with `none`; if
/// `recurrent` has `return_state`, its states forward and then backward as well. Called on x and all these states, it
/// begins with them. Weights: those of both layers, named "forward_lstm/kernel" and "backward_lstm/kernel". Cost: both
/// layers. Errors: those of `recurrent`; E1125 if a backward_layer does not differ from it in `go_backwards`, or
/// differs in `return_sequences`, `return_state`, `stateful`, the number of states, `dtype`, `on_host` or `trainable`.
/// Definition: Keras API, layers/recurrent_layers/bidirectional.
template <class Recurrent, class Backward = Recurrent>
  requires requires(Recurrent const& each, Backward const& other) {
    each.options.go_backwards;
    other.options.go_backwards;
  }
struct bidirectional : recurrent_layer<layer<bidirectional<Recurrent, Backward>>, bidirectional<Recurrent, Backward>,
                                       2 * Recurrent::state_count> {
  static constexpr std::string_view class_name = "Bidirectional";
  static constexpr std::string_view usage =
      "bidirectional{lstm{units}}, bidirectional{lstm{units}, {.merge_mode = merge_mode::sum, .name = ...}} or "
      "bidirectional{lstm{units}, lstm{units, {.go_backwards = true}}}"sv;

  static constexpr std::size_t states = Recurrent::state_count;  ///< states of each direction

  Recurrent recurrent;
  Backward backward;                ///< Keras's `backward_layer`
  bool has_backward_layer = false;  ///< true if it was given
  bidirectional_options options;

  constexpr explicit bidirectional(Recurrent const& recurrent_, bidirectional_options const& options_ = {})
      : bidirectional(recurrent_, turned(recurrent_), options_) {
    has_backward_layer = false;
  }
  constexpr bidirectional(Recurrent const& recurrent_, Backward const& backward_,
                          bidirectional_options const& options_ = {})
      : recurrent(recurrent_), backward(backward_), has_backward_layer(true), options(options_) {
    this->layer_name = options.name;
    this->trainable = options.trainable && recurrent.trainable;
    this->is_on_host = recurrent.is_on_host;
    this->layer_dtype = options.dtype == dtype::of_policy ? recurrent.layer_dtype : options.dtype;
  }

  /// Keras's `layer`.
  [[nodiscard]] constexpr Recurrent const& wrapped() const { return recurrent; }

  [[nodiscard]] constexpr bool passes_mask() const { return recurrent.passes_mask(); }
  static constexpr int most_outputs = 2 + 2 * states, named_outputs = 1 + 2 * states;
  /// Number of outputs of a call, and number of those, the first ones, that are sequences or their last steps.
  [[nodiscard]] constexpr int output_count() const {
    return masked_outputs() + (recurrent.options.return_state ? static_cast<int>(2 * states) : 0);
  }
  [[nodiscard]] constexpr int masked_outputs() const { return options.merge_mode == merge_mode::none ? 2 : 1; }
  /// See recurrent_layer.
  constexpr detail::recurrent_result<2 * Recurrent::state_count> run(operations::tracer& ops, operations::tensor x,
                                                                     operations::tensor mask,
                                                                     tensor_list initial) const {
    auto const one_way = [&](auto const& one, std::string_view prefix, bool turned) {
      fixed_name scope(prefix);
      scope.append(one.layer_name.empty() ? detail::snake_case(one.class_name) : one.layer_name);
      auto const own = initial.empty() ? initial : initial.subspan(turned ? states : 0, states);
      auto done = ops.name_scope(scope, [&] { return one.run(ops, x, mask, own); });
      if (turned && one.options.return_sequences) done.output = ops.flip(done.output, 1);
      return done;
    };
    if (!check_directions(ops)) return {x};
    auto const to_the_end = one_way(recurrent, "forward_", false);
    auto const to_the_front = one_way(backward, "backward_", true);
    auto forward = to_the_end.output, behind = to_the_front.output;
    detail::recurrent_result<2 * Recurrent::state_count> result{x};
    if (ops.list().problem.failed()) return result;
    for (std::size_t i = 0; i < states; ++i) {
      result.states[i] = to_the_end.states[i];
      result.states[states + i] = to_the_front.states[i];
    }
    if (mask.list != nullptr && recurrent.options.return_sequences) {  // here Keras returns zeros for masked steps
      auto const counts = ops.reshape(mask, {mask.length(0), mask.length(1), 1});
      auto const in_order = recurrent.options.go_backwards ? ops.flip(counts, 1) : counts;
      forward = forward * in_order;
      behind = behind * in_order;
    }
    auto const penalize = [&](regularizer const& rule, operations::tensor of, std::size_t first_state) {
      if (rule.empty()) return;
      add_penalty(ops, of, rule);
      if (recurrent.options.return_state)
        for (std::size_t i = 0; i < states; ++i) add_penalty(ops, result.states[first_state + i], rule);
    };
    penalize(detail::activity_regularizer_of(recurrent), forward, 0);
    penalize(detail::activity_regularizer_of(backward), behind, states);
    switch (options.merge_mode) {
      case merge_mode::sum: result.output = forward + behind; break;
      case merge_mode::mul: result.output = forward * behind; break;
      case merge_mode::none:
        result.output = forward;
        result.second = behind;
        break;
      case merge_mode::ave: result.output = (forward + behind) * 0.5F; break;
      default: result.output = ops.concatenate({forward, behind});
    }
    return result;
  }

 private:
  static constexpr Backward turned(Recurrent const& forward) {
    Backward result = forward;
    result.options.go_backwards = !forward.options.go_backwards;
    return result;
  }
  constexpr bool check_directions(operations::tracer& ops) const {
    auto const& one = recurrent.options;
    auto const& other = backward.options;
    if (Recurrent::state_count != Backward::state_count)
      ops.error(1125, "has two layers of ", static_cast<int>(Recurrent::state_count), " and ",
                static_cast<int>(Backward::state_count), " states; the backward_layer must have as many as the other");
    else if (one.go_backwards == other.go_backwards)
      ops.error(1125, "has two layers that run in one direction; go_backwards of the backward_layer must be the other");
    else if (one.return_sequences != other.return_sequences || one.return_state != other.return_state ||
             one.stateful != other.stateful)
      ops.error(1125, "has a backward_layer whose return_sequences, return_state or stateful is not that of the other");
    else if (recurrent.layer_dtype != backward.layer_dtype || recurrent.is_on_host != backward.is_on_host ||
             recurrent.trainable != backward.trainable)
      ops.error(1125,
                "has a backward_layer whose dtype, on_host or trainable is not that of the other: both are one step");
    else
      return true;
    return false;
  }
  static constexpr void add_penalty(operations::tracer& ops, operations::tensor x, regularizer const& rule) {
    if (rule.is_own()) ops.error(1100, "has an activity_regularizer of your own inside");
    ops.add_loss(activity_penalty(rule.l1, rule.l2).call(ops, x));
  }
};

template <class Recurrent>
bidirectional(Recurrent) -> bidirectional<Recurrent>;
template <class Recurrent>
bidirectional(Recurrent, bidirectional_options) -> bidirectional<Recurrent>;
template <class Recurrent, class Backward>
  requires requires { Backward::state_count; }
bidirectional(Recurrent, Backward) -> bidirectional<Recurrent, Backward>;
template <class Recurrent, class Backward>
bidirectional(Recurrent, Backward, bidirectional_options) -> bidirectional<Recurrent, Backward>;

}  // namespace stagecraft::layers
