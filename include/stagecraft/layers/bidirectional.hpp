// SPDX-License-Identifier: BSD-3-Clause
// A recurrent layer in both directions of time: tf.keras.layers.Bidirectional. Level 2.
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
/// turned round before both are merged.
///
/// Shape: (steps, features) to that of `recurrent`, twice as wide with `concat`. Weights: those of both, named
/// "forward_lstm/kernel" and "backward_lstm/kernel". Cost: that of both.
/// Errors: those of `recurrent`. Definition: Keras API, layers/recurrent_layers/bidirectional.
template <class Recurrent>
  requires requires(Recurrent const& each) { each.options.go_backwards; }
struct bidirectional : layer<bidirectional<Recurrent>> {
  static constexpr std::string_view class_name = "Bidirectional";
  static constexpr std::string_view usage =
      "bidirectional{lstm{units}} or bidirectional{lstm{units}, {.merge_mode = merge_mode::sum, .name = ...}}";

  Recurrent recurrent;
  bidirectional_options options;

  constexpr explicit bidirectional(Recurrent const& recurrent_, bidirectional_options const& options_ = {})
      : recurrent(recurrent_), options(options_) {
    this->layer_name = options.name;
    this->trainable = options.trainable;
  }

  /// Keras's `layer`.
  [[nodiscard]] constexpr Recurrent const& wrapped() const { return recurrent; }

  constexpr auto call(auto& ops, auto x) const {
    auto const run = [&](std::string_view prefix, bool turned) {
      auto one = recurrent;
      one.options.go_backwards = recurrent.options.go_backwards != turned;
      fixed_name scope(prefix);
      scope.append(recurrent.layer_name.empty() ? detail::snake_case(Recurrent::class_name) : recurrent.layer_name);
      auto const y = ops.name_scope(scope, [&] { return one.call(ops, x); });
      return turned && recurrent.options.return_sequences ? ops.flip(y, 1) : y;
    };
    auto const forward = run("forward_", false);
    auto const backward = run("backward_", true);
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
