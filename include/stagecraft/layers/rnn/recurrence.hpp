// SPDX-License-Identifier: BSD-3-Clause
// Weights, dropout and the loop over time of simple_rnn, lstm and gru.
#pragma once

#include <stagecraft/activations/activation_call.hpp>
#include <stagecraft/layers/count_limit.hpp>
#include <stagecraft/layers/rnn/recurrent_layer.hpp>
#include <array>
#include <string_view>

namespace stagecraft::layers::detail {

/// x with a share of its elements set to 0 and the others scaled, or x itself. All steps of time drop the same
/// elements.
constexpr operations::tensor call_dropout(operations::tracer& ops, operations::tensor x, float rate,
                                          operations::extents const& mask_shape) {
  if (!ops.training() || rate == 0.0F) return x;
  auto const drawn = ops.uniform(mask_shape);
  return where(drawn < rate, 0.0F, x * (1.0F / (1.0F - rate)));
}

/// A recurrent layer's loop: weights kernel, recurrent_kernel and bias, in Keras's order, each as wide as `gates` times
/// `units`; the products with the kernel of all steps at once; then `cell(projected, states, recurrent_product)` for
/// one step after the other. `bias_rows` is 2 if products with the recurrent kernel have a bias of their own.
template <std::size_t States, class Options>
class recurrence {
 public:
  constexpr recurrence(operations::tracer& ops, operations::tensor x, int units, int gates, int bias_rows,
                       initializer const& bias_initializer, Options const& options, operations::tensor mask)
      : ops_(&ops), options_(&options), units_(units), gates_(gates), mask_(mask) {
    is_valid = is_possible(x);
    if (!is_valid) return;
    batch_ = x.length(0);
    int const time = x.length(1), features = x.length(2), width = gates * units;
    auto const kernel = ops.weight(parameter::with("kernel", {features, width}, options.kernel_initializer,
                                                   options.kernel_regularizer, options.kernel_constraint));
    recurrent_kernel = ops.weight(parameter::with("recurrent_kernel", {units, width}, options.recurrent_initializer,
                                                  options.recurrent_regularizer, options.recurrent_constraint));
    auto const rows =
        ops.reshape(call_dropout(ops, x, options.dropout, {batch_, 1, features}), {batch_ * time, features});
    auto projected = ops.matmul(rows, kernel);
    if (options.use_bias) {
      auto const bias =
          ops.weight(parameter::with("bias", bias_rows == 1 ? shape(width) : shape(bias_rows, width), bias_initializer,
                                     options.bias_regularizer, options.bias_constraint));
      projected += bias_rows == 1 ? bias : ops.slice(bias, 0, 0, 1);
      if (bias_rows == 2) recurrent_bias = ops.slice(bias, 0, 1, 1);
    }
    projected_ = ops.reshape(projected, {batch_, time, width});
    if (ops.training() && options.recurrent_dropout != 0.0F) drawn_ = ops.uniform({batch_, units});
  }

  /// Runs the loop, where `cell(z, states)` returns the next states from the projected inputs z of a step; state 0 is
  /// the layer's output. It begins with the states `given`, with kept states, or with zeros.
  template <class Cell>
  constexpr recurrent_result<States> run(tensor_list given, Cell const& cell) const {
    first_states<States> const initial(*ops_, given, options_->stateful,
                                       [&](std::size_t) { return operations::extents{batch_, units_}; });
    return loop_over_steps(*ops_, projected_, mask_, initial, *options_, cell);
  }
  /// The state that the recurrent kernel is multiplied by.
  [[nodiscard]] constexpr operations::tensor dropped(operations::tensor state) const {
    if (drawn_.list == nullptr) return state;
    return where(drawn_ < options_->recurrent_dropout, 0.0F, state * (1.0F / (1.0F - options_->recurrent_dropout)));
  }
  /// The part of a product that belongs to a gate.
  [[nodiscard]] constexpr operations::tensor gate(operations::tensor product, int index, int count = 1) const {
    return ops_->slice(product, -1, index * units_, count * units_);
  }

  operations::tensor recurrent_kernel, recurrent_bias;
  bool is_valid = false;

 private:
  [[nodiscard]] constexpr bool is_possible(operations::tensor x) const {
    auto const is_rate = [](float rate) { return rate >= 0.0F && rate < 1.0F; };
    if (!are_counts(units_))
      ops_->error(1012, "has ", units_, " units; it needs ", count_limit(units_));
    else if (x.rank() != 3)
      ops_->error(1041, "expects an input of shape (steps, features), but got ", sample(x));
    else if (!is_rate(options_->dropout) || !is_rate(options_->recurrent_dropout))
      ops_->error(1013, "has a rate of dropout that is not at least 0 and below 1");
    else
      return has_possible_options();
    return false;
  }
  /// Checks Poplar's options, if the layer has some: E3004, E3005.
  [[nodiscard]] constexpr bool has_possible_options() const {
    if constexpr (requires { options_->options_bwd; })
      for (auto const* const each : {&options_->options, &options_->options_bwd}) {
        float const part = each->available_memory_proportion.or_else(1);
        dtype const type = each->partials_type.or_else(dtype::float32);
        std::string_view const name = each == &options_->options ? "options" : "options_bwd";
        if (!(part >= 0.0F && part <= 1.0F))
          return ops_->error(3004, "has an available_memory_proportion in ", name, " that is not from 0 to 1"), false;
        if (type != dtype::float32 && type != dtype::float16)
          return ops_->error(3005, "has partials_type ", stagecraft::name(type), " in ", name,
                             "; it must be float32 or float16"),
                 false;
      }
    return true;
  }
  /// The shape as Keras's input_shape, without the batch.
  static constexpr shape sample(operations::tensor x) {
    shape result;
    for (int i = 1; i < x.rank(); ++i) result.push_back(x.length(i));
    return result;
  }

  operations::tracer* ops_;
  Options const* options_;
  int units_, gates_, batch_ = 0;
  operations::tensor projected_, mask_, drawn_;
};

}  // namespace stagecraft::layers::detail
