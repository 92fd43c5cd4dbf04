// SPDX-License-Identifier: BSD-3-Clause
// The tensors of an operation that works on any number of them: a whole step of a layer.
#pragma once

#include <stagecraft/ipu/steps/lowered_step.hpp>
#include <cstdint>

namespace stagecraft::detail {

/// There may be more tensors than one operation can name: operations before it, which do nothing, name the rest.
struct named_tensors {
  static constexpr int most = lowered_step::most_tensors;
  /// The function of operations that only name tensors, and the size where the operation behind them keeps the number
  /// of the first.
  static constexpr int only_names = 2, first_operation = 2;

  int inputs[most]{}, outputs[most]{};
  int input_count = 0, output_count = 0;

  constexpr named_tensors() = default;
  constexpr named_tensors(lowered_step const& step, tile_operation const& operation) {
    for (auto i = operation.sizes[first_operation];
         step.operations[i].kind == operation.kind && step.operations[i].function == only_names; ++i)
      add(step.operations[i]);
    add(operation);
  }

  constexpr void add_input(int tensor) { inputs[input_count++] = tensor; }
  constexpr void add_output(int tensor) { outputs[output_count++] = tensor; }
  /// Whether it is read: an output that is read, too, such as a weight that the layer updates, has one place.
  [[nodiscard]] constexpr bool reads(int tensor) const {
    for (int i = 0; i < input_count; ++i)
      if (inputs[i] == tensor) return true;
    return false;
  }

 private:
  constexpr void add(tile_operation const& operation) {
    for (int i = 0; i < operation.input_count; ++i) add_input(operation.inputs[i]);
    for (int i = 0; i < operation.output_count; ++i) add_output(operation.outputs[i]);
  }
};

/// An operation on all of these tensors.
constexpr tile_operation& append_with_tensors(lowered_step& step, operation_kind kind, int function,
                                              named_tensors const& tensors) {
  int const first = step.operation_count;
  int input = 0, output = 0;
  auto const name_some = [&](tile_operation& operation) {
    while (input < tensors.input_count && operation.input_count < tile_operation::most_inputs)
      operation.inputs[operation.input_count++] = tensors.inputs[input++];
    while (output < tensors.output_count && operation.output_count < tile_operation::most_outputs)
      operation.outputs[operation.output_count++] = tensors.outputs[output++];
  };
  while (tensors.input_count - input > tile_operation::most_inputs ||
         tensors.output_count - output > tile_operation::most_outputs)
    name_some(step.add(kind, named_tensors::only_names, {}, {}));
  auto& operation = step.add(kind, function, {}, {});
  name_some(operation);
  operation.sizes[named_tensors::first_operation] = first;
  return operation;
}

}  // namespace stagecraft::detail
