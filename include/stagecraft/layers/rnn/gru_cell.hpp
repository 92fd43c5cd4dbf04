// SPDX-License-Identifier: BSD-3-Clause
// A step of a gated recurrent unit, for rnn: tf.keras.layers.GRUCell.
#pragma once

#include <stagecraft/graph/wrong_options.hpp>
#include <stagecraft/layers/rnn/cell_weights.hpp>
#include <stagecraft/layers/rnn/gru_state.hpp>

namespace stagecraft::layers {

/// Keras's keyword arguments of GRUCell.
struct gru_cell_options {
  stagecraft::activation activation = tanh;               ///< the function of what a step has computed
  stagecraft::activation recurrent_activation = sigmoid;  ///< the function of the gates
  bool use_bias = true;  ///< whether the cell has weights `bias`, which are added to the products
  initializer kernel_initializer = initializers::glorot_uniform{};  ///< the values that the kernel begins with
  initializer recurrent_initializer = initializers::orthogonal{};   ///< those of the recurrent kernel
  initializer bias_initializer = initializers::zeros{};             ///< those of the bias
  regularizer kernel_regularizer = {};     ///< a penalty on the kernel that is added to the loss
  regularizer recurrent_regularizer = {};  ///< a penalty on the recurrent kernel that is added to the loss
  regularizer bias_regularizer = {};       ///< a penalty on the bias that is added to the loss
  constraint kernel_constraint = {};       ///< what the kernel becomes after each update
  constraint recurrent_constraint = {};    ///< what the recurrent kernel becomes after each update
  constraint bias_constraint = {};         ///< what the bias becomes after each update
  float dropout = 0;            ///< the share of the inputs' elements that training sets to 0, the same in all steps
  float recurrent_dropout = 0;  ///< the same for the state that the recurrent kernel is multiplied by
  bool reset_after = true;      ///< whether the reset gate acts on the product with the recurrent kernel, or before it
};

/// The next h of a gated recurrent unit.
///
/// A cell of rnn or stacked_rnn_cells: gru has the formulas, the weights and the errors, and computes the products of
/// all steps at once. Definition: Keras API, layers/recurrent_layers/gru_cell.
struct gru_cell {
  static constexpr std::string_view name = "gru_cell";
  static constexpr int states = 1;

  int units = 1;
  gru_cell_options options;

  constexpr explicit gru_cell(detail::whole_number units_, gru_cell_options const& options_ = {})
      : units(units_), options(options_) {}

  [[nodiscard]] constexpr int state_size(int) const { return units; }
  constexpr auto build(auto& ops, operations::extents const& of_step) const {
    detail::cell_weights const weights(ops, of_step, units, 3, options.reset_after ? 2 : 1, options.bias_initializer,
                                       options);
    return [weights, *this](auto& in, auto x, auto const& state) {
      return detail::gru_state(in, options, units, weights.projected(in, x), state[0], weights.seen(state[0]),
                               weights.recurrent_kernel, weights.recurrent_bias);
    };
  }
};

}  // namespace stagecraft::layers
