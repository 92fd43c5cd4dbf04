// SPDX-License-Identifier: BSD-3-Clause
// Long short-term memory: tf.keras.layers.LSTM, and LSTMCell, one step of it for rnn.
#pragma once

#include <stagecraft/activations/activation_call.hpp>
#include <stagecraft/graph/stage_poplar_options.hpp>
#include <stagecraft/graph/wrong_options.hpp>
#include <stagecraft/initializers/constant.hpp>
#include <stagecraft/initializers/random.hpp>
#include <stagecraft/initializers/variance_scaling.hpp>
#include <stagecraft/layers/layer.hpp>
#include <stagecraft/layers/rnn/cell_weights.hpp>
#include <stagecraft/layers/rnn/recurrence.hpp>
#include <stagecraft/regularizers/regularizer.hpp>
#include <array>

namespace stagecraft::layers::detail {

/// The next h and c from the c before and `gate(i)`, the sums of gates i, f, g and o.
constexpr auto lstm_states(stagecraft::activation const& a, stagecraft::activation const& r, auto const& gate,
                           auto before) {
  auto const kept = r(gate(1)) * before;
  auto const c = kept + r(gate(0)) * a(gate(2));
  auto const open = r(gate(3));
  return std::array{open * a(c), c};
}

}  // namespace stagecraft::layers::detail

namespace stagecraft::layers {

/// Keras's keyword arguments of LSTM.
struct lstm_options {
  /// The activation of new states.
  stagecraft::activation activation = tanh;
  /// The activation of the gates.
  stagecraft::activation recurrent_activation = sigmoid;
#include <stagecraft/layers/rnn/recurrent_initializers.hpp>
  /// True if the bias of the forget gate begins with ones, whatever bias_initializer says.
  bool unit_forget_bias = true;
#include <stagecraft/layers/rnn/recurrent_options.hpp>
  /// Graphcore's `options` of a PopnnLSTM: on emulated IPUs they override the machine's and the stage's options of
  /// products in forward steps. Errors: E3004, E3005.
  stage_poplar_options options = {};
  /// Graphcore's `options` for the products of backward steps.
  stage_poplar_options options_bwd = {};
#include <stagecraft/layers/common_options.hpp>
};

/// Long short-term memory, with z = x * kernel + h * recurrent_kernel + bias in the parts i, f, g and o:
/// c = r(f) c + r(i) a(g) and h = r(o) a(c), step by step from 0, where a is `activation` and r `recurrent_activation`.
/// Masked steps leave the state as it is (layers/core/masking.hpp).
/// Called on x and h and c, it begins with these in place of 0.
///
/// Shape: (steps, features) to (units), or (steps, units) with `return_sequences`; with
/// `return_state` h and c (units) after the last step as well. Weights: kernel (features, 4 *
/// units), recurrent_kernel (units, 4 * units), bias (4 * units). Cost: 2 * (features + units) * 4 * units FLOPs per
/// step and sample. Errors: E1012 units; E1013 rates of dropout; E1041 an input of another rank; E1085
/// initial states that do not fit; E1087, E1088 of stateful layers. Definition: Keras API,
/// layers/recurrent_layers/lstm; Hochreiter and Schmidhuber, 1997.
struct lstm : recurrent_layer<layer<lstm>, lstm, 2> {
  static constexpr std::string_view class_name = "LSTM";
  static constexpr std::string_view usage = "lstm{units} or lstm{units, {.return_sequences = true, .name = ...}}"sv;

  int units = 1;
  using arguments = argument_list<&lstm::units>;
  lstm_options options;

  constexpr explicit(false) lstm(detail::whole_number units_, lstm_options const& options_ = {})
      : units(units_), options(options_) {
    take_base_options(options);
  }

  using recurrent_layer::recurrent_layer;
  /// No argument, or any other: E1025.
  template <class L = lstm>
  constexpr explicit lstm(detail::wrong_options = {}, detail::wrong_options = {}, detail::wrong_options = {},
                          detail::wrong_options = {})
      : lstm(1) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  /// See recurrent_layer.
  template <class Tracer>
  constexpr detail::recurrent_result<2> run(Tracer& ops, operations::tensor x, operations::tensor mask,
                                            tensor_list initial) const {
    initializer bias = options.bias_initializer;
    bias.unit_forget_bias = options.unit_forget_bias;
    detail::recurrence<2, lstm_options> const loop(ops, x, units, 4, 1, bias, options, mask);
    if (!loop.is_valid) return {x};
    return loop.run(initial, [&](auto projected, auto const& state) {
      auto const z = projected + ops.matmul(loop.dropped(state[0]), loop.recurrent_kernel);
      auto const gate = [&](int index) { return loop.gate(z, index); };
      return detail::lstm_states(options.activation, options.recurrent_activation, gate, state[1]);
    });
  }
};

/// Keras's keyword arguments of LSTMCell.
struct lstm_cell_options {
  stagecraft::activation activation = tanh;               ///< the activation of new states
  stagecraft::activation recurrent_activation = sigmoid;  ///< the activation of the gates
#include <stagecraft/layers/rnn/recurrent_initializers.hpp>
  bool unit_forget_bias = true;  ///< true if the forget gate's bias begins with ones, whatever bias_initializer says
#include <stagecraft/layers/rnn/cell_options.hpp>
};

/// A step of long short-term memory, for rnn: tf.keras.layers.LSTMCell.
/// The next h and c of long short-term memory.
///
/// A cell of rnn or stacked_rnn_cells: lstm has the formulas, the weights and the errors, and computes the products of
/// all steps at once. Definition: Keras API, layers/recurrent_layers/lstm_cell.
struct lstm_cell {
  static constexpr std::string_view name = "lstm_cell";
  static constexpr int states = 2;

  int units = 1;
  lstm_cell_options options;

  constexpr explicit lstm_cell(detail::whole_number units_, lstm_cell_options const& options_ = {})
      : units(units_), options(options_) {}

  [[nodiscard]] constexpr int state_size(int) const { return units; }
  constexpr auto build(auto& ops, operations::extents const& of_step) const {
    initializer bias = options.bias_initializer;
    bias.unit_forget_bias = options.unit_forget_bias;
    detail::cell_weights const weights(ops, of_step, units, 4, 1, bias, options);
    return [weights, *this](auto& in, auto x, auto const& state) {
      auto const z = weights.projected(in, x) + in.matmul(weights.seen(state[0]), weights.recurrent_kernel);
      auto const gate = [&](int index) { return in.slice(z, -1, index * units, units); };
      return detail::lstm_states(options.activation, options.recurrent_activation, gate, state[1]);
    };
  }
};

}  // namespace stagecraft::layers
