// SPDX-License-Identifier: BSD-3-Clause
// Both steps of a layer's plan on small IPUs, lowered at run time: values, and cycles and memory as foretold.
#pragma once

#include <stagecraft/ipu/convolution/plan_convolution.hpp>
#include <stagecraft/ipu/lowering/task_list_of_call.hpp>
#include <stagecraft/ipu/tasks/tasks.hpp>
#include <stagecraft/ipu/tiles/codelets/run_task.hpp>
#include <array>
#include <cmath>
#include <cstddef>
#include <doctest/doctest.h>
#include <vector>

#include "../../host/lists/run_plan.hpp"
#include "../tiles/codelets/run_on_tiles.hpp"

namespace tests {

class plan_on_tiles {
  using floats = stagecraft::operations::runs::floats;
  using numbers = stagecraft::operations::runs::numbers;
  using tensor_role = stagecraft::tiles::tensor_role;

 public:
  plan_on_tiles(stagecraft::operations::traced_plan const& plan, stagecraft::ipu_target const& target,
                stagecraft::dtype type)
      : plan_(plan), target_(target), type_(type), wanted_(plan.traced.gradients.size()) {
    for (std::size_t i = 0; i < wanted_.size(); ++i) wanted_[i] = plan.traced.gradients[i] >= 0;
  }

  /// False if it has an operation that tiles do not know.
  bool run(numbers& with) {
    with.gradients.assign(wanted_.size(), {});
    kept_.clear();
    if (!run(with, false)) return false;
    if (with.at_output) with.at_output(with);
    return run(with, true);
  }

 private:
  static std::size_t at(int index) { return static_cast<std::size_t>(index); }

  bool run(numbers& with, bool backward) {
    stagecraft::detail::traced_options const options{.type = type_, .variable_type = type_, .target = target_};
    std::array<bool, 16> wanted{};
    for (std::size_t i = 0; i < wanted_.size(); ++i) wanted[i] = wanted_[i] != 0;
    stagecraft::detail::traced_steps<> steps(stagecraft::operations::plan_view(plan_), options, backward, plan_.updates,
                                             {wanted.data(), wanted_.size()},
                                             static_cast<int>(plan_.traced.inputs.size()));
    if (steps.builder.failed) return false;
    steps.lay_out();
    std::vector<stagecraft::tiles::convolution_plan> plans;
    for (auto const& shape : steps.builder.shapes) plans.push_back(stagecraft::plan_convolution(shape, target_, {}));
    stagecraft::tiles::task_list_view list;
    list.tensors = steps.builder.tensors;
    list.tasks = steps.builder.tasks;
    list.loops = steps.builder.loops;
    list.shapes = steps.builder.shapes;
    list.plans = plans;
    list.copies = steps.copies;
    stagecraft::detail::set_cost(list, target_,
                                 stagecraft::detail::cost_of_task_list(list, target_, 0, list.tasks.size()));

    stagecraft::tiles::lowered_step step;
    stagecraft::detail::named_tensors named;
    std::vector<floats> values;
    for (auto const& each : list.tensors)
      if (each.given >= 0) {
        auto const& tensor = each.tensor;
        named.add_input(step.tensor(tensor.role, tensor.index, tensor.type, tensor.elements));
        values.push_back(before(with, tensor));
      }
    for (auto const& each : list.tensors)
      if (each.given >= 0 && each.written) named.add_output(named.inputs[each.given]);
    append_task_list(step, list, named);
    stagecraft::tiles::step_cost const foretold(step, target_);
    auto const result = run_on_tiles(step, target_, values, stagecraft::tiles::run_task, {}, foretold.temporary_bytes);
    for (int i = 0; i < named.output_count; ++i)
      after(with, step.tensors[named.outputs[i]], result.tensors[at(named.outputs[i])]);
    auto cost = foretold.cost;
    cost.temporary_bytes = 0;
    CHECK(result.counted == cost);
    CHECK(stagecraft::tiles::rounded_bytes(result.high_water_mark) == result.tensor_bytes + foretold.temporary_bytes);
    return true;
  }
  floats before(numbers const& with, stagecraft::tiles::tile_tensor const& tensor) {
    switch (tensor.role) {
      case tensor_role::input: return with.inputs[at(tensor.index)];
      case tensor_role::weight: return with.weights[at(tensor.index)];
      case tensor_role::output_gradient: return with.output_gradient;
      case tensor_role::output:
        return with.output.empty() ? floats(at(static_cast<int>(tensor.elements))) : with.output;
      case tensor_role::saved:
        for (auto const& [index, elements] : kept_)
          if (index == tensor.index) return elements;
        [[fallthrough]];
      default: return floats(at(static_cast<int>(tensor.elements)), std::nanf(""));
    }
  }
  void after(numbers& with, stagecraft::tiles::tile_tensor const& tensor, floats const& values) {
    switch (tensor.role) {
      case tensor_role::output: with.output = values; break;
      case tensor_role::weight: with.weights[at(tensor.index)] = values; break;
      case tensor_role::saved: kept_.push_back({tensor.index, values}); break;
      case tensor_role::input_gradient: with.gradients[at(tensor.index)] = values; break;
      default: with.gradients[plan_.traced.inputs.size() + at(tensor.index)] = values;
    }
  }

  struct kept {
    int index;
    floats values;
  };
  stagecraft::operations::traced_plan const& plan_;
  stagecraft::ipu_target target_;
  stagecraft::dtype type_;
  std::vector<char> wanted_;
  std::vector<kept> kept_;
};

}  // namespace tests
