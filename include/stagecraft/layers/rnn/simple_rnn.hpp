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
  /// The function of what a step has computed.
  stagecraft::activation activation = tanh;
  /// Whether the layer has weights `bias`, which are added to the products.
  bool use_bias = true;
  /// The values that the kernel begins with.
  initializer kernel_initializer = initializers::glorot_uniform{};
  /// The values that the recurrent kernel begins with.
  initializer recurrent_initializer = initializers::orthogonal{};
  /// The values that the bias begins with.
  initializer bias_initializer = initializers::zeros{};
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
#include <stagecraft/layers/common_options.hpp>
};

/// h = activation(x * kernel + h * recurrent_kernel + bias), step by step from h = 0.
/// Steps that are masked leave the state as it is (layers/core/masking.hpp).
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
    layer_name = options.name;
    trainable = options.trainable;
    layer_dtype = options.dtype;
  }

  /// Nothing, or anything else: E1025.
  template <class L = simple_rnn>
  constexpr simple_rnn() : simple_rnn(1) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }
  using recurrent_layer::recurrent_layer;
  template <class L = simple_rnn>
  constexpr explicit simple_rnn(detail::wrong_options, ...) : simple_rnn(1) {
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
  stagecraft::activation activation = tanh;  ///< the function of what a step has computed
  bool use_bias = true;                      ///< whether the cell has weights `bias`, which are added to the products
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
