// SPDX-License-Identifier: BSD-3-Clause
// Lowering of the layers that are an activation: activation, re_lu, leaky_re_lu, elu_layer, thresholded_re_lu,
// softmax_layer. Level 4.
#pragma once

#include <stagecraft/activations/activation_formula.hpp>
#include <stagecraft/ipu/operations/map.hpp>
#include <stagecraft/ipu/operations/rows.hpp>
#include <stagecraft/layers/activation.hpp>
#include <stagecraft/layers/elu_layer.hpp>
#include <stagecraft/layers/leaky_re_lu.hpp>
#include <stagecraft/layers/re_lu.hpp>
#include <stagecraft/layers/softmax_layer.hpp>
#include <stagecraft/layers/thresholded_re_lu.hpp>
#include <stagecraft/program/lowering/lowering.hpp>
#include <cstdint>

namespace stagecraft {

namespace detail {

/// An elementwise activation from a call's input to its output.
template <class Call>
constexpr void append_layer_activation(lowered_step& step, activation const& function,
                                       operations::formula_view const* formula = nullptr) {
  append_activation_map(step, function, Call::input(step), Call::output(step), formula);
}
template <class Call>
constexpr void append_layer_activation_gradient(lowered_step& step, activation const& function,
                                                operations::formula_view const* formula = nullptr) {
  if (!Call::wants_input_gradient(0)) return;
  int const known = function.gradient_needs_input() ? Call::input(step) : Call::output(step);
  append_activation_gradient_map(step, function, Call::output_gradient(step), known, Call::input_gradient(step),
                                 formula);
}

/// What hands on the logits that the loss takes, and their gradient.
template <class Call>
constexpr void append_logits(lowered_step& step) {
  append_map(step, map_function::copy, Call::output(step), {{Call::input(step)}});
}
template <class Call>
constexpr void append_logits_gradient(lowered_step& step) {
  if (Call::wants_input_gradient(0))
    append_map(step, map_function::copy, Call::input_gradient(step), {{Call::output_gradient(step)}});
}

/// Softmax along one axis of the output's shape.
template <class Call>
constexpr void append_layer_softmax(lowered_step& step, int axis) {
  constexpr shape out = Call::output_shape();
  append_softmax(step, Call::input(step), Call::output(step), std::int64_t{Call::batch} * out.size(0, axis), out[axis],
                 out.size(axis + 1, out.rank()));
}
template <class Call>
constexpr void append_layer_softmax_gradient(lowered_step& step, int axis) {
  if (!Call::wants_input_gradient(0)) return;
  constexpr shape out = Call::output_shape();
  append_softmax_gradient(step, Call::output_gradient(step), Call::output(step), Call::input_gradient(step),
                          std::int64_t{Call::batch} * out.size(0, axis), out[axis], out.size(axis + 1, out.rank()));
}

/// A layer that says its activation in `function()`.
struct activation_layer_lowering {
  template <class Call>
  static constexpr void forward(lowered_step& step) {
    append_layer_activation<Call>(step, Call::layer.function());
  }
  template <class Call>
  static constexpr void backward(lowered_step& step) {
    append_layer_activation_gradient<Call>(step, Call::layer.function());
  }
};

}  // namespace detail

template <>
struct lowering<layers::activation> {
  template <class Call>
  static constexpr void forward(lowered_step& step) {
    if (Call::planned.activation_in_loss)
      detail::append_logits<Call>(step);
    else if (Call::layer.function.kind == activation_kind::softmax)
      detail::append_layer_softmax<Call>(step, Call::output_shape().rank() - 1);
    else
      detail::append_layer_activation<Call>(step, Call::layer.function,
                                            detail::own_formula<Call::layer.function, false>());
  }
  template <class Call>
  static constexpr void backward(lowered_step& step) {
    if (Call::planned.activation_in_loss)
      detail::append_logits_gradient<Call>(step);
    else if (Call::layer.function.kind == activation_kind::softmax)
      detail::append_layer_softmax_gradient<Call>(step, Call::output_shape().rank() - 1);
    else
      detail::append_layer_activation_gradient<Call>(step, Call::layer.function,
                                                     detail::own_formula<Call::layer.function, true>());
  }
};

template <>
struct lowering<layers::re_lu> : detail::activation_layer_lowering {};
template <>
struct lowering<layers::leaky_re_lu> : detail::activation_layer_lowering {};
template <>
struct lowering<layers::elu_layer> : detail::activation_layer_lowering {};
template <>
struct lowering<layers::thresholded_re_lu> : detail::activation_layer_lowering {};

template <>
struct lowering<layers::softmax_layer> {
  template <class Call>
  static constexpr void forward(lowered_step& step) {
    if (Call::planned.activation_in_loss)
      detail::append_logits<Call>(step);
    else
      detail::append_layer_softmax<Call>(step, Call::layer.shape_axis(Call::output_shape()));
  }
  template <class Call>
  static constexpr void backward(lowered_step& step) {
    if (Call::planned.activation_in_loss)
      detail::append_logits_gradient<Call>(step);
    else
      detail::append_layer_softmax_gradient<Call>(step, Call::layer.shape_axis(Call::output_shape()));
  }
};

}  // namespace stagecraft
