// SPDX-License-Identifier: BSD-3-Clause
// What must be kept of a call's tensors until its backward step: the part of a gradient's rule that decides about
// memory. Level 4.
#pragma once

#include <stagecraft/graph/layer.hpp>
#include <stagecraft/layers/layers.hpp>

namespace stagecraft {

/// Whether a program trains or only predicts.
enum class execution_mode : unsigned char { training, inference };

/// What the backward step of a call reads, and what its forward step must keep for it.
struct call_needs {
  bool input = true;    ///< backward reads the inputs' values
  bool output = true;   ///< backward reads the output's value
  bool view = false;    ///< the output is the input's memory; neither step does anything
  /// Floats that forward keeps for backward, for the whole batch; in inference, floats that forward needs for itself.
  long long saved = 0;
};

/// A layer of the user's own reads what it says in `backward_uses_input`, `backward_uses_output` and `saved_size(in)`
/// (floats per sample); all inputs and outputs are kept where it says nothing.
template <Layer L>
constexpr call_needs needs_of(L const& layer, layer_inputs const& in, int batch, execution_mode mode) {
  call_needs needs;
  if constexpr (requires { L::backward_uses_input; }) needs.input = L::backward_uses_input;
  if constexpr (requires { L::backward_uses_output; }) needs.output = L::backward_uses_output;
  if constexpr (requires { L::is_view; }) needs.view = L::is_view;
  if constexpr (requires { layer.saved_size(in); })
    if (mode == execution_mode::training) needs.saved = static_cast<long long>(batch) * layer.saved_size(in);
  return needs;
}

constexpr call_needs needs_of(layers::dense const& layer, layer_inputs const& in, int batch, execution_mode mode) {
  bool const keeps_sum = mode == execution_mode::training && layer.activation.gradient_needs_input();
  auto const outputs = static_cast<long long>(batch) * layer.output_shape(in).size();
  return {.output = !keeps_sum && layer.activation != linear, .saved = keeps_sum ? outputs : 0};
}

constexpr call_needs needs_of(layers::activation const& layer, layer_inputs const&, int, execution_mode) {
  bool const needs_input = layer.function.gradient_needs_input();
  return {.input = needs_input, .output = !needs_input, .view = layer.function == linear};
}

constexpr call_needs needs_of(layers::dropout const& layer, layer_inputs const&, int, execution_mode mode) {
  return {.input = false, .output = false, .view = mode == execution_mode::inference || layer.rate == 0.0F};
}

constexpr call_needs needs_of(layers::input const&, layer_inputs const&, int, execution_mode) {
  return {.input = false, .output = false};
}
constexpr call_needs needs_of(layers::add const&, layer_inputs const&, int, execution_mode) {
  return {.input = false, .output = false};
}
constexpr call_needs needs_of(layers::subtract const&, layer_inputs const&, int, execution_mode) {
  return {.input = false, .output = false};
}
constexpr call_needs needs_of(layers::average const&, layer_inputs const&, int, execution_mode) {
  return {.input = false, .output = false};
}
constexpr call_needs needs_of(layers::concatenate const&, layer_inputs const&, int, execution_mode) {
  return {.input = false, .output = false};
}
constexpr call_needs needs_of(layers::multiply const&, layer_inputs const&, int, execution_mode) {
  return {.output = false};
}
constexpr call_needs needs_of(layers::maximum const&, layer_inputs const&, int, execution_mode) {
  return {.output = false};
}

}  // namespace stagecraft
