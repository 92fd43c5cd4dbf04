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
  /// The function of what a step has computed.
  stagecraft::activation activation = tanh;
  /// The function of the gates.
  stagecraft::activation recurrent_activation = sigmoid;
  /// Whether the layer has weights `bias`, which are added to the products.
  bool use_bias = true;
  /// The values that the kernel begins with.
  initializer kernel_initializer = initializers::glorot_uniform{};
  /// The values that the recurrent kernel begins with.
  initializer recurrent_initializer = initializers::orthogonal{};
  /// The values that the bias begins with.
  initializer bias_initializer = initializers::zeros{};
  /// Whether the bias of the forget gate begins with ones, whatever bias_initializer says.
  bool unit_forget_bias = true;
  /// A penalty on the kernel that is added to the loss: l1, l2 or both.
  regularizer kernel_regularizer = {};
  /// A penalty on the recurrent kernel that is added to the loss: l1, l2 or both.
  regularizer recurrent_regularizer = {};
  /// A penalty on the bias that is added to the loss: l1, l2 or both.
  regularizer bias_regularizer = {};
  /// A penalty on the output that is added to the loss, divided by the batch size: l1, l2 or both.
  regularizer activity_regularizer = {};
  /// What the kernel becomes after each update: non_neg, max_norm and the like.
  constraint kernel_constraint = {};
  /// What the recurrent kernel becomes after each update: non_neg, max_norm and the like.
  constraint recurrent_constraint = {};
  /// What the bias becomes after each update: non_neg, max_norm and the like.
  constraint bias_constraint = {};
  /// The share of the input's elements that training sets to 0, the same ones in all steps of time.
  float dropout = 0;
  /// The same for the state that the recurrent kernel is multiplied by.
  float recurrent_dropout = 0;
  /// Whether the result is the output of all steps, or of the last one.
  bool return_sequences = false;
  /// Whether the states after the last step are outputs as well, behind the result.
  bool return_state = false;
  /// Whether to begin at the end; a sequence has the order of the steps that were made.
  bool go_backwards = false;
  /// Whether a batch begins with the states after the one before: see recurrent_layer.
  bool stateful = false;
  /// Graphcore's `options` of a PopnnLSTM: what emulated IPUs plan otherwise for the products of forward steps than the
  /// machine's and the stage's options of products say. Errors: E3004, E3005 as of these.
  stage_poplar_options options = {};
  /// The same for backward steps.
  stage_poplar_options options_bwd = {};
#include <stagecraft/layers/common_options.hpp>
};

/// Long short-term memory. With z = x * kernel + h * recurrent_kernel + bias in the parts i, f, g and o:
/// c = r(f) c + r(i) a(g) and h = r(o) a(c), step by step from 0, where a is `activation` and r `recurrent_activation`.
/// Steps that are masked leave the state as it is (layers/core/masking.hpp).
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
    layer_name = options.name;
    trainable = options.trainable;
    layer_dtype = options.dtype;
  }

  /// Nothing, or anything else: E1025.
  template <class L = lstm>
  constexpr lstm() : lstm(1) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }
  using recurrent_layer::recurrent_layer;
  template <class L = lstm>
  constexpr explicit lstm(detail::wrong_options, ...) : lstm(1) {
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
