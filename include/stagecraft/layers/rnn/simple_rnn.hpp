// SPDX-License-Identifier: BSD-3-Clause
// A recurrent layer without gates: tf.keras.layers.SimpleRNN, and SimpleRNNCell, one step of it for rnn.
#pragma once

#include <stagecraft/graph/wrong_options.hpp>
#include <stagecraft/initializers/constant.hpp>
#include <stagecraft/initializers/random.hpp>
#include <stagecraft/initializers/variance_scaling.hpp>
#include <stagecraft/layers/layer.hpp>
#include <stagecraft/layers/rnn/cell_weights.hpp>
#include <stagecraft/layers/rnn/recurrence.hpp>
#include <stagecraft/regularizers/regularizer.hpp>
#include <array>

namespace stagecraft::layers {

/// Keras's keyword arguments of SimpleRNN.
struct simple_rnn_options {
  /// The activation of new states.
  stagecraft::activation activation = tanh;
#include <stagecraft/layers/rnn/recurrent_initializers.hpp>

#include <stagecraft/layers/rnn/recurrent_options.hpp>

#include <stagecraft/layers/common_options.hpp>
};

/// h = activation(x * kernel + h * recurrent_kernel + bias), step by step from h = 0.
/// Masked steps leave the state as it is (layers/core/masking.hpp).
/// Called on x and h, it begins with this in place of 0.
///
/// Shape: (steps, features) to (units), or (steps, units) with `return_sequences`; with
/// `return_state` h (units) after the last step as well. Weights: kernel (features, units),
/// recurrent_kernel (units, units), bias (units). Cost: 2 * (features + units) * units FLOPs per step and sample.
/// Errors: E1012 units; E1013 rates of dropout; E1041 an input of another rank; E1085
/// initial states that do not fit; E1087, E1088 of stateful layers.
/// Definition: Keras API, layers/recurrent_layers/simple_rnn.
struct simple_rnn : recurrent_layer<layer<simple_rnn>, simple_rnn, 1> {
  static constexpr std::string_view class_name = "SimpleRNN";
  static constexpr std::string_view usage =
      "simple_rnn{units} or simple_rnn{units, {.return_sequences = true, .name = ...}}"sv;

  int units = 1;
  using arguments = argument_list<&simple_rnn::units>;
  simple_rnn_options options;

  constexpr explicit(false) simple_rnn(detail::whole_number units_, simple_rnn_options const& options_ = {})
      : units(units_), options(options_) {
    take_base_options(options);
  }

  using recurrent_layer::recurrent_layer;
  /// No argument, or any other: E1025.
  template <class L = simple_rnn>
  constexpr explicit simple_rnn(detail::wrong_options = {}, detail::wrong_options = {}, detail::wrong_options = {},
                                detail::wrong_options = {})
      : simple_rnn(1) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  /// See recurrent_layer.
  template <class Tracer>
  constexpr detail::recurrent_result<1> run(Tracer& ops, operations::tensor x, operations::tensor mask,
                                            tensor_list initial) const {
    detail::recurrence<1, simple_rnn_options> const loop(ops, x, units, 1, 1, options.bias_initializer, options, mask);
    if (!loop.is_valid) return {x};
    return loop.run(initial, [&](auto z, auto const& state) {
      auto const sum = z + ops.matmul(loop.dropped(state[0]), loop.recurrent_kernel);
      return std::array{options.activation(sum)};
    });
  }
};

/// Keras's keyword arguments of SimpleRNNCell.
struct simple_rnn_cell_options {
  stagecraft::activation activation = tanh;  ///< the activation of new states
#include <stagecraft/layers/rnn/recurrent_initializers.hpp>

#include <stagecraft/layers/rnn/cell_options.hpp>
};

/// A step of a simple recurrent network, for rnn: tf.keras.layers.SimpleRNNCell.
/// h = activation(x * kernel + h * recurrent_kernel + bias).
///
/// A cell of rnn or stacked_rnn_cells: simple_rnn has the formulas, the weights and the errors, and computes the
/// products of all steps at once. Definition: Keras API, layers/recurrent_layers/simple_rnn_cell.
struct simple_rnn_cell {
  static constexpr std::string_view name = "simple_rnn_cell";
  static constexpr int states = 1;

  int units = 1;
  simple_rnn_cell_options options;

  constexpr explicit simple_rnn_cell(detail::whole_number units_, simple_rnn_cell_options const& options_ = {})
      : units(units_), options(options_) {}

  [[nodiscard]] constexpr int state_size(int) const { return units; }
  constexpr auto build(auto& ops, operations::extents const& of_step) const {
    detail::cell_weights const weights(ops, of_step, units, 1, 1, options.bias_initializer, options);
    return [weights, a = options.activation](auto& in, auto x, auto const& state) {
      return std::array{a(weights.projected(in, x) + in.matmul(weights.seen(state[0]), weights.recurrent_kernel))};
    };
  }
};

}  // namespace stagecraft::layers
