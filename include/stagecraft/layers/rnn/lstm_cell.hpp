// SPDX-License-Identifier: BSD-3-Clause
// A step of long short-term memory, for rnn: tf.keras.layers.LSTMCell.
#pragma once

#include <stagecraft/graph/wrong_options.hpp>
#include <stagecraft/layers/rnn/cell_weights.hpp>
#include <stagecraft/layers/rnn/lstm_states.hpp>

namespace stagecraft::layers {

/// Keras's keyword arguments of LSTMCell.
struct lstm_cell_options {
  stagecraft::activation activation = tanh;               ///< the function of what a step has computed
  stagecraft::activation recurrent_activation = sigmoid;  ///< the function of the gates
  bool use_bias = true;  ///< whether the cell has weights `bias`, which are added to the products
  initializer kernel_initializer = initializers::glorot_uniform{};  ///< the values that the kernel begins with
  initializer recurrent_initializer = initializers::orthogonal{};   ///< those of the recurrent kernel
  initializer bias_initializer = initializers::zeros{};             ///< those of the bias
  bool unit_forget_bias = true;  ///< whether the forget gate's bias begins with ones, whatever bias_initializer says
  regularizer kernel_regularizer = {};     ///< a penalty on the kernel that is added to the loss
  regularizer recurrent_regularizer = {};  ///< a penalty on the recurrent kernel that is added to the loss
  regularizer bias_regularizer = {};       ///< a penalty on the bias that is added to the loss
  constraint kernel_constraint = {};       ///< what the kernel becomes after each update
  constraint recurrent_constraint = {};    ///< what the recurrent kernel becomes after each update
  constraint bias_constraint = {};         ///< what the bias becomes after each update
  float dropout = 0;            ///< the share of the inputs' elements that training sets to 0, the same in all steps
  float recurrent_dropout = 0;  ///< the same for the state that the recurrent kernel is multiplied by
};

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
