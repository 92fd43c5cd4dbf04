// SPDX-License-Identifier: BSD-3-Clause
// The tensors of an operation that works on any number of them: a whole step of a layer.
#pragma once

#include <stagecraft/ipu/steps/lowered_step.hpp>
#include <cstdint>
#include <type_traits>

namespace stagecraft::tiles {

/// There may be more tensors than one operation can name: operations before it, which do nothing, name the rest.
struct named_tensors {
  static constexpr int most = lowered_step::most_tensors;
  int inputs[most]{}, outputs[most]{};
  int input_count = 0, output_count = 0;

  constexpr named_tensors() = default;
  constexpr named_tensors(lowered_step const& step, tile_operation const& operation) {
    auto const* own_step = operation.what.if_is<own_layer_step>();
    for (auto i = own_step != nullptr ? own_step->first : operation.what.as<traced_program>().first;
         step.operations[i].what.is<tensor_names>(); ++i)
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
template <class What>
constexpr tile_operation& append_with_tensors(lowered_step& step, What what, named_tensors const& tensors) {
  what.first = step.operation_count;
  int input = 0, output = 0;
  auto const name_some = [&](tile_operation& operation) {
    while (input < tensors.input_count && operation.input_count < tile_operation::most_inputs)
      operation.inputs[operation.input_count++] = tensors.inputs[input++];
    while (output < tensors.output_count && operation.output_count < tile_operation::most_outputs)
      operation.outputs[operation.output_count++] = tensors.outputs[output++];
  };
  while (tensors.input_count - input > tile_operation::most_inputs ||
         tensors.output_count - output > tile_operation::most_outputs)
    name_some(step.add(tensor_names{std::is_same_v<What, own_layer_step> ? 0 : 1}, {}, {}));
  auto& operation = step.add(what, {}, {});
  name_some(operation);
  return operation;
}

}  // namespace stagecraft::tiles
