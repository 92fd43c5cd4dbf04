// SPDX-License-Identifier: BSD-3-Clause
// What a constraint makes of a weight, as operations. Level 4.
#pragma once

#include <stagecraft/graph/constraint.hpp>
#include <stagecraft/operations/traced_plan.hpp>
#include <span>

namespace stagecraft::detail {

/// E1070 where it gives something else than a weight of the same shape.
constexpr operations::trace trace_constraint(constraint const& of, shape const& whole) {
  operations::extents const inputs[]{operations::extents::of(whole)};
  return operations::trace_call(
      [&](operations::tracer& ops, std::span<operations::tensor const> in) {
        ops.list().kind = "constraint";
        auto const result = of.rules->call(of.options, ops, in[0]);
        if (result.shape() != inputs[0])
          ops.list().fail("it gives a tensor of shape ", result.shape(), " for a weight of shape ", inputs[0]);
        return result;
      },
      inputs, false, of.rules->name);
}

/// The input is the weight, row by row, whatever its layout is.
template <constraint Constraint, shape Whole>
class plan_of_constraint {
  struct make {
    static constexpr constraint of = Constraint;  // copies, since Clang 19 finds members of arguments at wrong places
    static constexpr shape whole = Whole;
    constexpr operations::traced_plan operator()() const {
      return operations::traced_plan(trace_constraint(of, whole), false);
    }
  };
  static constexpr auto frozen = operations::freeze_plan(make{});

 public:
  static constexpr operations::plan_view value = frozen;
};

}  // namespace stagecraft::detail
