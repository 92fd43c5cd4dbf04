// SPDX-License-Identifier: BSD-3-Clause
// Gated recurrent units: tf.keras.layers.GRU.
#pragma once

#include <stagecraft/graph/stage_poplar_options.hpp>
#include <stagecraft/graph/wrong_options.hpp>
#include <stagecraft/initializers/glorot_uniform.hpp>
#include <stagecraft/initializers/orthogonal.hpp>
#include <stagecraft/initializers/zeros.hpp>
#include <stagecraft/layers/argument_list.hpp>
#include <stagecraft/layers/rnn/gru_state.hpp>
#include <stagecraft/layers/rnn/recurrence.hpp>
#include <stagecraft/regularizers/regularizer.hpp>

namespace stagecraft::layers {

/// Keras's keyword arguments of GRU.
struct gru_options {
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
  /// Whether the reset gate comes after the product with the recurrent kernel, which then has a bias of its own.
  bool reset_after = true;
  /// Graphcore's `options` of a PopnnGRU: what emulated IPUs plan otherwise for the products of forward steps than the
  /// machine's and the stage's options of products say. Errors: E3004, E3005 as of these.
  stage_poplar_options options = {};
  /// The same for backward steps.
  stage_poplar_options options_bwd = {};
  /// The layer's name in summaries, errors and names of weights; empty: made from the class, as in Keras ("dense_1").
  fixed_name name = {};
  bool trainable = true;  ///< false: a frozen layer, whose weights training does not change
  /// The type of the layer's weights and of what it computes, in place of the dtype_policy's.
  stagecraft::dtype dtype = stagecraft::dtype::of_policy;
};

/// A gated recurrent unit. With p = x * kernel + bias and q = h * recurrent_kernel in the parts z, r and g:
/// h = u h + (1 - u) a(p_g + s(p_r + q_r) q_g) with u = s(p_z + q_z), step by step from h = 0, where a is `activation`
/// and s `recurrent_activation`. With `reset_after` q has a bias, too; without it q_g is (s(p_r + q_r) h) *
/// recurrent_kernel_g.
/// Steps that are masked leave the state as it is (layers/core/masking.hpp).
/// Called on x and h, it begins with this in place of 0.
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
    layer_name = options.name;
    trainable = options.trainable;
    layer_dtype = options.dtype;
  }

  /// Nothing, or anything else: E1025.
  template <class L = gru>
  constexpr gru() : gru(1) {
    static_assert(detail::report<detail::wrong_options_problem<L>>());
  }
  using recurrent_layer::recurrent_layer;
  template <class L = gru>
  constexpr explicit gru(detail::wrong_options, ...) : gru(1) {
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

}  // namespace stagecraft::layers
