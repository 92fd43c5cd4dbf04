// SPDX-License-Identifier: BSD-3-Clause
// A recurrent layer in both directions of time: tf.keras.layers.Bidirectional.
#pragma once

#include <stagecraft/graph/layer_names.hpp>
#include <stagecraft/layers/layer.hpp>
#include <string_view>

namespace stagecraft::layers {

/// Keras's `merge_mode`: what becomes of the two results.
enum class merge_mode : unsigned char { concat, sum, mul, ave };

/// Keras's keyword arguments of Bidirectional.
struct bidirectional_options {
  /// How the results of the two directions become one.
  layers::merge_mode merge_mode = merge_mode::concat;
  /// The layer's name in summaries, errors and names of weights; empty: made from the class, as in Keras ("dense_1").
  fixed_name name = {};
  bool trainable = true;  ///< false: a frozen layer, whose weights training does not change
};

/// `recurrent` once as it is, and once from the other end with weights of its own; a sequence of the second one is
/// turned round before both are merged. Sequences have zeros where steps are masked, as in Keras.
///
/// Shape: (steps, features) to that of `recurrent`, twice as wide with `concat`. Weights: those of both, named
/// "forward_lstm/kernel" and "backward_lstm/kernel". Cost: that of both.
/// Errors: those of `recurrent`. Definition: Keras API, layers/recurrent_layers/bidirectional.
template <class Recurrent>
  requires requires(Recurrent const& each) { each.options.go_backwards; }
struct bidirectional : layer<bidirectional<Recurrent>> {
  static constexpr bool supports_masking = true;
  static constexpr std::string_view class_name = "Bidirectional";
  static constexpr std::string_view usage =
      "bidirectional{lstm{units}} or bidirectional{lstm{units}, {.merge_mode = merge_mode::sum, .name = ...}}";

  Recurrent recurrent;
  bidirectional_options options;
  step_masks masks;  ///< of its first call; the library finds them

  constexpr explicit bidirectional(Recurrent const& recurrent_, bidirectional_options const& options_ = {})
      : recurrent(recurrent_), options(options_) {
    this->layer_name = options.name;
    this->trainable = options.trainable;
  }

  /// Keras's `layer`.
  [[nodiscard]] constexpr Recurrent const& wrapped() const { return recurrent; }

  [[nodiscard]] constexpr bool passes_mask() const { return recurrent.passes_mask(); }
  constexpr auto call(auto& ops, auto x) const { return call_masked(ops, x, {}); }
  constexpr auto call_masked(auto& ops, auto x, decltype(x) mask) const {
    auto const run = [&](std::string_view prefix, bool turned) {
      auto one = recurrent;
      one.options.go_backwards = recurrent.options.go_backwards != turned;
      fixed_name scope(prefix);
      scope.append(recurrent.layer_name.empty() ? detail::snake_case(Recurrent::class_name) : recurrent.layer_name);
      auto const y = ops.name_scope(scope, [&] { return one.call_masked(ops, x, mask); });
      return turned && recurrent.options.return_sequences ? ops.flip(y, 1) : y;
    };
    auto forward = run("forward_", false);
    auto backward = run("backward_", true);
    if (mask.list != nullptr && recurrent.options.return_sequences) {  // here Keras gives zeros for steps left out
      auto const counts = ops.reshape(mask, {mask.length(0), mask.length(1), 1});
      auto const in_order = recurrent.options.go_backwards ? ops.flip(counts, 1) : counts;
      forward = forward * in_order;
      backward = backward * in_order;
    }
    switch (options.merge_mode) {
      case merge_mode::sum: return forward + backward;
      case merge_mode::mul: return forward * backward;
      case merge_mode::ave: return (forward + backward) * 0.5F;
      default: return ops.concatenate({forward, backward});
    }
  }
};

template <class Recurrent>
bidirectional(Recurrent) -> bidirectional<Recurrent>;
template <class Recurrent>
bidirectional(Recurrent, bidirectional_options) -> bidirectional<Recurrent>;

}  // namespace stagecraft::layers
