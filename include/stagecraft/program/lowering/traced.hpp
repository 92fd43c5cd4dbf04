// SPDX-License-Identifier: BSD-3-Clause
// Lowering of layers that are written as a `call`: one operation if the call is elementwise; else a program of
// operations on all tiles; one vertex on tile 0 where a layer has an operation that tiles do not know. Level 4.
#pragma once

#include <stagecraft/program/lowering/elementwise.hpp>
#include <stagecraft/program/lowering/lowering.hpp>
#include <stagecraft/program/lowering/traced/program_of_call.hpp>

namespace stagecraft {

namespace detail {

/// Names a program's tensors by those of the step around it.
template <class Call>
constexpr int tensor_around(lowered_step& step, tile_tensor const& given) {
  switch (given.role) {
    case tensor_role::input: return Call::input(step, given.index);
    case tensor_role::output: return Call::output(step);
    case tensor_role::weight: return Call::stored_weight(step, given.index);
    case tensor_role::saved: return Call::saved(step, given.index, given.elements, given.type);
    case tensor_role::output_gradient: return Call::output_gradient(step);
    case tensor_role::input_gradient: return Call::input_gradient(step, given.index);
    default: return Call::weight_gradient(step, given.index);
  }
}

template <class Call, bool Backward>
constexpr void append_program_of_call(lowered_step& step) {
  auto const& program = program_of_call<typename call_without_variant<Call>::type, Backward>;
  named_tensors tensors;
  for (auto const& each : program.tensors)
    if (each.given >= 0) tensors.add_input(tensor_around<Call>(step, each.tensor));
  for (auto const& each : program.tensors)
    if (each.given >= 0 && each.written) tensors.add_output(tensor_around<Call>(step, each.tensor));
  append_program(step, program, tensors);
}

}  // namespace detail

template <class L>
  requires detail::HasCall<L>
struct lowering<L> {
  template <class Call>
  static constexpr void forward(lowered_step& step) {
    if constexpr (detail::elementwise_lowering<Call>::holds)
      detail::elementwise_lowering<Call>::forward(step);
    else if constexpr (detail::has_program<typename detail::call_without_variant<Call>::type>)
      detail::append_program_of_call<Call, false>(step);
    else
      append_custom_forward<Call>(step);
  }
  template <class Call>
  static constexpr void backward(lowered_step& step) {
    if constexpr (detail::elementwise_lowering<Call>::holds)
      detail::elementwise_lowering<Call>::backward(step);
    else if constexpr (detail::has_program<typename detail::call_without_variant<Call>::type>)
      detail::append_program_of_call<Call, true>(step);
    else
      append_custom_backward<Call>(step);
  }
};

}  // namespace stagecraft
