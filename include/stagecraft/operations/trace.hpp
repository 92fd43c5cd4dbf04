// SPDX-License-Identifier: BSD-3-Clause
// A whole computation in constant evaluation: a traced `call`, with room for its gradients (differentiation.hpp).
#pragma once

#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/operations/ctc_loss.hpp>
#include <stagecraft/operations/tracer.hpp>
#include <concepts>
#include <string_view>

namespace stagecraft::operations {

/// Operations, the weights that they read, and which of them are results.
struct trace {
  operation_list list;
  tracing::growing_array<parameter> weights;
  tracing::growing_array<int> inputs;  ///< an input of the list for each argument of `call`
  tracing::growing_array<int> outputs;
  int forward_count = 0;                  ///< operations before the first one of the gradients
  tracing::growing_array<int> seeds;      ///< inputs of the list: the gradient of each output
  tracing::growing_array<int> gradients;  ///< gradients of the inputs, then of the weights; -1 where there is none
};

/// Traces `call(ops, inputs)`, where `inputs` is a span of tensors; `call` returns one tensor or an array of them.
template <class Call>
constexpr trace trace_call(Call const& call, tracing::array_view<extents const> shapes, bool training = true,
                           std::string_view layer_name = {}) {
  trace result;
  result.list.layer_name = layer_name;
  tracer ops(result.list, result.weights, training);
  tracing::growing_array<tensor> inputs;
  for (extents const& shape : shapes) {
    inputs.push_back(ops.append(input{static_cast<int>(inputs.size())}, shape));
    result.inputs.push_back(inputs.back().id);
  }
  auto const outputs = call(ops, tracing::array_view<tensor const>(inputs));
  if constexpr (std::convertible_to<decltype(outputs), tensor>)
    result.outputs.push_back(outputs.id);
  else
    for (tensor const output : outputs) result.outputs.push_back(output.id);
  result.forward_count = result.list.size();
  return result;
}

}  // namespace stagecraft::operations
