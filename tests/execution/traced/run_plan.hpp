// SPDX-License-Identifier: BSD-3-Clause
// A layer's plan carried out at run time: by the runner that the host and tiles use, and by the reference on doubles.
#pragma once

#include <stagecraft/execution/traced/list_runner.hpp>
#include <stagecraft/kernels/simd.hpp>
#include <stagecraft/operations/traced_plan.hpp>
#include <string>
#include <vector>
#include "../../operations/reference.hpp"

namespace stagecraft::operations::runs {
using floats = std::vector<float>;

/// Inputs, weights and the gradient of the output; then the output, the gradients of inputs and weights, and the
/// weights as updated.
struct numbers {
  std::vector<floats> inputs, weights;
  floats output_gradient;
  floats output;
  std::vector<floats> gradients;  ///< empty where there is none
};

inline std::size_t size_of(traced_plan const& plan, int id) {
  return static_cast<std::size_t>(plan.traced.list.node_of(id).shape.size());
}

/// With the memory that the plan says: what a step leaves in it is not a number.
class float_run {
 public:
  float_run(traced_plan const& plan, numbers& with) : plan_(plan), with_(with) {
    kept_ = garbage(plan.kept_floats);
    with.output = garbage(static_cast<std::int64_t>(size_of(plan, plan.traced.outputs[0])));
    run(plan.forward, plan.forward_places, plan.forward_workspace);
    if (auto const* result = memory_[index(plan.traced.outputs[0])]; result != with.output.data())
      std::copy_n(result, with.output.size(), with.output.data());
    for (auto const& [weight, value] : plan.updates)
      std::copy_n(memory_[index(value)], size_of(plan, value), with.weights[index(weight)].data());
    run(plan.backward, plan.backward_places, plan.backward_workspace);
    with.gradients.clear();
    for (int const id : plan.traced.gradients) {
      with.gradients.emplace_back();
      if (id >= 0) with.gradients.back().assign(memory_[index(id)], memory_[index(id)] + size_of(plan, id));
    }
  }

 private:
  using runner = list_runner<kernels::default_architecture>;
  static std::size_t index(int id) { return static_cast<std::size_t>(id); }
  static floats garbage(std::int64_t count) { return floats(static_cast<std::size_t>(count), std::nanf("")); }

  void run(std::vector<int> const& order, std::vector<place> const& places, std::int64_t workspace) {
    auto const& nodes = plan_.traced.list.nodes;
    workspace_ = garbage(workspace + runner::workspace_of(nodes, plan_.traced.list.operands, order));
    memory_.assign(nodes.size(), nullptr);
    for (std::size_t id = 0; id < nodes.size(); ++id) memory_[id] = address(places[id]);
    runner(nodes, plan_.traced.list.operands, memory_, workspace_.data() + workspace, 1, 2).run(order);
  }
  float* address(place const& where) {
    switch (where.in) {
      case storage::input: return with_.inputs[index(where.index)].data();
      case storage::weight: return with_.weights[index(where.index)].data();
      case storage::output: return with_.output.data();
      case storage::output_gradient: return with_.output_gradient.data();
      case storage::kept: return kept_.data() + where.offset;
      case storage::workspace: return workspace_.data() + where.offset;
      default: return nullptr;
    }
  }

  traced_plan const& plan_;
  numbers& with_;
  floats kept_, workspace_;
  std::vector<float*> memory_;
};

/// The same on doubles.
inline void reference_run(traced_plan const& plan, numbers& with) {
  reference::interpreter run(plan.traced.list.nodes, plan.traced.list.operands);
  auto const fill = [&](int id, floats const& values) { run[id].assign(values.begin(), values.end()); };
  for (int id = 0; id < plan.traced.list.size(); ++id)
    if (auto const* read = plan.traced.list.node_of(id).what.if_is<weight>())
      fill(id, with.weights[static_cast<std::size_t>(read->index)]);
  for (std::size_t i = 0; i < with.inputs.size(); ++i) fill(plan.traced.inputs[i], with.inputs[i]);
  fill(plan.traced.seeds[0], with.output_gradient);
  run.run(plan.traced.list.size());
  auto const take = [&](int id) { return id < 0 ? floats{} : floats(run[id].begin(), run[id].end()); };
  with.output = take(plan.traced.outputs[0]);
  with.gradients.clear();
  for (int const id : plan.traced.gradients) with.gradients.push_back(take(id));
  for (auto const& [weight, value] : plan.updates) with.weights[static_cast<std::size_t>(weight)] = take(value);
}

}  // namespace stagecraft::operations::runs
