// SPDX-License-Identifier: BSD-3-Clause
// Gated recurrent units: tf.keras.layers.GRU, and GRUCell, one step of it for rnn.
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

/// The next state from the products p of the input and the state before; `h` is that state as the recurrent kernel sees
/// it. `recurrent_bias` is read only with `reset_after`.
constexpr auto gru_state(auto& ops, auto const& options, int units, auto p, auto before, auto h, auto recurrent_kernel,
                         auto recurrent_bias) {
  auto const a = options.activation;
  auto const s = options.recurrent_activation;
  auto const gate = [&](auto product, int index, int count = 1) {
    return ops.slice(product, -1, index * units, count * units);
  };
  auto const mix = [&](auto update, auto candidate) {
    return std::array{update * before + (1.0F - update) * candidate};
  };
  if (options.reset_after) {
    auto q = ops.matmul(h, recurrent_kernel);
    if (options.use_bias) q += recurrent_bias;
    auto const update = s(gate(p, 0) + gate(q, 0));
    auto const reset = s(gate(p, 1) + gate(q, 1));
    return mix(update, a(gate(p, 2) + reset * gate(q, 2)));
  }
  auto const q = ops.matmul(h, gate(recurrent_kernel, 0, 2));
  auto const update = s(gate(p, 0) + gate(q, 0));
  auto const reset = s(gate(p, 1) + gate(q, 1));
  return mix(update, a(gate(p, 2) + ops.matmul(reset * h, gate(recurrent_kernel, 2))));
}

}  // namespace stagecraft::layers::detail

namespace stagecraft::layers {

/// Keras's keyword arguments of GRU.
struct gru_options {
  /// The activation of new states.
  stagecraft::activation activation = tanh;
  /// The activation of the gates.
  stagecraft::activation recurrent_activation = sigmoid;
#include <stagecraft/layers/rnn/recurrent_initializers.hpp>

#include <stagecraft/layers/rnn/recurrent_options.hpp>
  /// True if the reset gate comes after the product with the recurrent kernel, which then has a bias of its own.
  bool reset_after = true;
  /// Graphcore's `options` of a PopnnGRU: on emulated IPUs they override the machine's and the stage's options of
  /// products in forward steps. Errors: E3004, E3005.
  stage_poplar_options options = {};
  /// Graphcore's `options` for the products of backward steps.
  stage_poplar_options options_bwd = {};
#include <stagecraft/layers/common_options.hpp>
};

/// A gated recurrent unit, with p = x * kernel + bias and q = h * recurrent_kernel in the parts z, r and g:
/// h = u h + (1 - u) a(p_g + s(p_r + q_r) q_g) with u = s(p_z + q_z), step by step from h = 0, where a is `activation`
/// and s `recurrent_activation`. If `reset_after`, q has a bias, too; else q_g is (s(p_r + q_r) h) *
/// recurrent_kernel_g. Masked steps leave the state as it is (layers/core/masking.hpp). Called on x and h, it begins
/// with this in place of 0.
///
/// Shape: (steps, features) to (units), or (steps, units) with `return_sequences`; with
/// `return_state` h (units) after the last step as well. Weights: kernel (features, 3 *
/// units), recurrent_kernel (units, 3 * units), bias (2, 3 * units), or (3 * units). Cost: 2 * (features + units) * 3 *
/// units FLOPs per step and sample. Errors: E1012 units; E1013 rates of dropout; E1041 an input of another rank; E1085
/// initial states that do not fit; E1087, E1088 of stateful layers.
/// Definition: Keras API, layers/recurrent_layers/gru; Cho and others, 2014.
struct gru : recurrent_layer<layer<gru>, gru, 1> {
  static constexpr std::string_view class_name = "GRU";
  static constexpr std::string_view usage = "gru{units} or gru{units, {.return_sequences = true, .name = ...}}"sv;

  int units = 1;
  using arguments = argument_list<&gru::units>;
  gru_options options;

  constexpr explicit(false) gru(detail::whole_number units_, gru_options const& options_ = {})
      : units(units_), options(options_) {
    take_base_options(options);
  }

  using recurrent_layer::recurrent_layer;
  /// No argument, or any other: E1025.
  template <class L = gru>
  constexpr explicit gru(detail::wrong_options = {}, detail::wrong_options = {}, detail::wrong_options = {},
                         detail::wrong_options = {})
      : gru(1) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }

  /// See recurrent_layer.
  template <class Tracer>
  constexpr detail::recurrent_result<1> run(Tracer& ops, operations::tensor x, operations::tensor mask,
                                            tensor_list initial) const {
    int const bias_rows = options.reset_after ? 2 : 1;
    detail::recurrence<1, gru_options> const loop(ops, x, units, 3, bias_rows, options.bias_initializer, options, mask);
    if (!loop.is_valid) return {x};
    return loop.run(initial, [&](auto p, auto const& state) {
      return detail::gru_state(ops, options, units, p, state[0], loop.dropped(state[0]), loop.recurrent_kernel,
                               loop.recurrent_bias);
    });
  }
};

/// Keras's keyword arguments of GRUCell.
struct gru_cell_options {
  stagecraft::activation activation = tanh;               ///< the activation of new states
  stagecraft::activation recurrent_activation = sigmoid;  ///< the activation of the gates
#include <stagecraft/layers/rnn/recurrent_initializers.hpp>

#include <stagecraft/layers/rnn/cell_options.hpp>
  bool reset_after = true;  ///< true if the reset gate acts on the product with the recurrent kernel, or before it
};

/// A step of a gated recurrent unit, for rnn: tf.keras.layers.GRUCell.
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
