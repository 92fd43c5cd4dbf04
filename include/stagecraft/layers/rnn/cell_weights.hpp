// SPDX-License-Identifier: BSD-3-Clause
// Weights and dropout of simple_rnn_cell, lstm_cell and gru_cell.
#pragma once

#include <stagecraft/activations/activation.hpp>
#include <stagecraft/initializers/constant.hpp>
#include <stagecraft/initializers/random.hpp>
#include <stagecraft/initializers/variance_scaling.hpp>
#include <stagecraft/layers/count_limit.hpp>
#include <stagecraft/layers/traced_call.hpp>
#include <stagecraft/regularizers/regularizer.hpp>

namespace stagecraft::layers::detail {

/// Weights kernel, recurrent_kernel and bias of a cell, in Keras's order, and its dropout. Errors: E1012, E1013.
struct cell_weights {
  operations::tensor kernel, recurrent_kernel, bias, recurrent_bias, drawn_inputs, drawn_states;
  float input_rate = 0, state_rate = 0;

  constexpr cell_weights(operations::tracer& ops, operations::extents const& of_step, int units, int gates,
                         int bias_rows, initializer const& bias_initializer, auto const& options)
      : input_rate(options.dropout), state_rate(options.recurrent_dropout) {
    if (!are_counts(units)) {
      ops.error(1012, "has a cell of ", units, " units; it needs ", count_limit(units));
      units = 1;
    }
    auto const is_rate = [](float rate) { return rate >= 0.0F && rate < 1.0F; };
    if (!is_rate(input_rate) || !is_rate(state_rate))
      ops.error(1013, "has a rate of dropout that is not at least 0 and below 1");
    kernel = ops.weight(parameter::with("kernel", {of_step[-1], gates * units}, options.kernel_initializer,
                                        options.kernel_regularizer, options.kernel_constraint));
    recurrent_kernel =
        ops.weight(parameter::with("recurrent_kernel", {units, gates * units}, options.recurrent_initializer,
                                   options.recurrent_regularizer, options.recurrent_constraint));
    if (options.use_bias) {
      shape const of_bias = bias_rows == 1 ? shape(gates * units) : shape(bias_rows, gates * units);
      auto const all = ops.weight(
          parameter::with("bias", of_bias, bias_initializer, options.bias_regularizer, options.bias_constraint));
      bias = bias_rows == 1 ? all : ops.slice(all, 0, 0, 1);
      if (bias_rows == 2) recurrent_bias = ops.slice(all, 0, 1, 1);
    }
    if (ops.training() && input_rate != 0.0F) drawn_inputs = ops.uniform(of_step);
    if (ops.training() && state_rate != 0.0F) drawn_states = ops.uniform({of_step[0], units});
  }

  /// x * kernel + bias
  constexpr auto projected(auto& ops, auto x) const {
    auto const product = ops.matmul(dropped(x, drawn_inputs, input_rate), kernel);
    return bias.list == nullptr ? product : product + bias;
  }
  /// The state that the recurrent kernel is multiplied by.
  constexpr auto seen(auto h) const { return dropped(h, drawn_states, state_rate); }

 private:
  static constexpr auto dropped(auto x, auto drawn, float rate) {
    return drawn.list == nullptr ? x : where(drawn < rate, 0.0F, x * (1.0F / (1.0F - rate)));
  }
};

}  // namespace stagecraft::layers::detail
