// SPDX-License-Identifier: BSD-3-Clause
// A traced computation as a constant of the program: arrays of exactly its size. Level 1.
#pragma once

#include <stagecraft/operations/trace.hpp>

namespace stagecraft::operations {

/// How long the arrays of a frozen trace are.
struct trace_sizes {
  std::size_t nodes = 0, operands = 0, weights = 0, inputs = 0, outputs = 0;
};

/// What `trace` is, without memory of its own to manage: usable as a constexpr variable.
template <trace_sizes Sizes>
struct frozen_trace {
  std::array<node, Sizes.nodes> nodes{};
  std::array<int, Sizes.operands> operands{};
  std::array<parameter, Sizes.weights> weights{};
  std::array<int, Sizes.inputs> inputs{};
  std::array<int, Sizes.outputs> outputs{}, seeds{};
  std::array<int, Sizes.inputs + Sizes.weights> gradients{};
  int forward_count = 0;
  diagnostic problem;

  constexpr explicit frozen_trace(trace const& from) : forward_count(from.forward_count), problem(from.list.problem) {
    auto const copy = [](auto const& source, auto& target) {
      for (std::size_t i = 0; i < source.size(); ++i) target[i] = source[i];
    };
    copy(from.list.nodes, nodes);
    copy(from.list.operands, operands);
    copy(from.weights, weights);
    copy(from.inputs, inputs);
    copy(from.outputs, outputs);
    copy(from.seeds, seeds);
    copy(from.gradients, gradients);
  }
};

/// Traces and freezes: `make()` gives a trace in constant evaluation, and is called twice.
template <auto Make>
constexpr auto freeze() {
  constexpr trace_sizes sizes = [] {
    trace const made = Make();
    return trace_sizes{made.list.nodes.size(), made.list.operands.size(), made.weights.size(), made.inputs.size(),
                       made.outputs.size()};
  }();
  return frozen_trace<sizes>(Make());
}

}  // namespace stagecraft::operations
