// SPDX-License-Identifier: BSD-3-Clause
// A whole computation while it exists in constant evaluation: a `call` that was traced, and its gradients. Level 1.
#pragma once

#include <stagecraft/operations/differentiation.hpp>
#include <concepts>

namespace stagecraft::operations {

/// Operations, the weights that they read, and which of them are results.
struct trace {
  operation_list list;
  std::vector<parameter> weights;
  std::vector<int> inputs;  ///< of the list: one for each tensor that `call` is given
  std::vector<int> outputs;
  int forward_count = 0;       ///< operations before the first one of the gradients
  std::vector<int> seeds;      ///< inputs of the list: the gradient of each output
  std::vector<int> gradients;  ///< of each input, then of each weight; -1 where there is none
};

/// Traces `call(ops, inputs)`, where `inputs` is a span of tensors; it gives one tensor or an array of them.
template <class Call>
constexpr trace trace_call(Call const& call, std::span<extents const> shapes, bool training = true,
                           std::string_view layer_name = {}) {
  trace result;
  result.list.layer_name = layer_name;
  tracer ops(result.list, result.weights, training);
  std::vector<tensor> inputs;
  for (extents const& shape : shapes) {
    inputs.push_back(ops.append(input{static_cast<int>(inputs.size())}, shape));
    result.inputs.push_back(inputs.back().id);
  }
  auto const outputs = call(ops, std::span<tensor const>(inputs));
  if constexpr (std::convertible_to<decltype(outputs), tensor>)
    result.outputs.push_back(outputs.id);
  else
    for (tensor const output : outputs) result.outputs.push_back(output.id);
  result.forward_count = result.list.size();
  return result;
}

/// Appends the gradients of a traced computation, of all its inputs and weights.
constexpr void differentiate(trace& traced) {
  tracer ops(traced.list, traced.weights);
  differentiation gradients(ops);
  for (int const output : traced.outputs) {
    tensor const seed = ops.append(input{static_cast<int>(traced.inputs.size() + traced.seeds.size())},
                                   traced.list.node_of(output).shape);
    traced.seeds.push_back(seed.id);
    gradients.add(output, seed);
  }
  gradients.run(0, traced.forward_count);
  for (int const id : traced.inputs) traced.gradients.push_back(gradients.of(id).id);
  for (std::size_t weight = 0; weight < traced.weights.size(); ++weight)
    for (int id = 0; id < traced.forward_count; ++id)
      if (auto const* read = traced.list.node_of(id).what.if_is<operations::weight>();
          read && read->index == static_cast<int>(weight))
        traced.gradients.push_back(traced.list.problem.failed() ? -1 : gradients.of(id).id);
}

}  // namespace stagecraft::operations
