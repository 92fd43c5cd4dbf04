// SPDX-License-Identifier: BSD-3-Clause
// A function of a weight, such as its constraint, as operations on the tiles of an IPU.
#pragma once

#include <stagecraft/ipu/lowering/traced/traced_steps.hpp>
#include <stagecraft/operations/plan/traced_plan.hpp>
#include <concepts>

namespace stagecraft::tiles {

/// Appends a plan whose input is a weight; `result`, of type `type`, gets what it gives, and may be the weight: then it
/// is written at once by an operation that has read the same elements, or by a copy at the end.
template <std::same_as<operations::plan_view> Plan>  // so that few programs compile it
constexpr void append_plan_of_weight(lowered_step& step, Plan const& plan, int weight, int result, dtype type) {
  constexpr ipu_target any;  // nothing of these operations depends on it
  traced_options const options{.type = type, .variable_type = type, .target = any};
  traced_steps<> const steps(plan, options, false, {}, {}, 1);
  auto const role_of = [&](int tensor) {
    auto const& [of, offset, given, written] = steps.program.tensors[tensor];
    return given >= 0 ? of.role : tensor_role::temporary;
  };
  bool is_written = false, may_write = true;
  for (task const& each : steps.program.tasks) {
    bool const writes = role_of(each.outputs[0]) == tensor_role::output;
    is_written = is_written || writes;
    for (int i = 0; i < each.input_count; ++i)
      if (is_written && role_of(each.inputs[i]) == tensor_role::input)
        may_write = may_write && writes && each.what.is<map_task>() && each.what.as<map_task>().reads[i].count == 0;
  }
  bool const copies = result == weight && !may_write;
  int const written = copies ? step.temporary(plan.nodes[plan.output].shape.size(), type) : result;
  append_operations(step, steps.program,
                    [&](tile_tensor const& given) { return given.role == tensor_role::input ? weight : written; });
  if (copies) append_map(step, map_function::copy, result, {{written}});
}

}  // namespace stagecraft::tiles
