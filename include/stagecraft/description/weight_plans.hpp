// SPDX-License-Identifier: BSD-3-Clause
// What a weight begins with, what a constraint makes of it, and a regularizer's penalty with its gradient, as
// operations.
#pragma once

#include <stagecraft/description/update_of_weight.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/graph/parameter.hpp>
#include <stagecraft/initializers/initializer.hpp>
#include <stagecraft/operations/differentiation.hpp>
#include <stagecraft/operations/plan/traced_plan.hpp>
#include <stagecraft/regularizers/regularizer.hpp>

namespace stagecraft::jobs {

/// E1070 if it returns anything but a weight of the same shape.
constexpr operations::trace trace_constraint(constraint const& of, shape const& whole) {
  operations::extents const inputs[]{operations::extents::of(whole)};
  return operations::trace_call(
      [&](operations::tracer& ops, tracing::array_view<operations::tensor const> in) {
        ops.list().kind = "constraint";
        auto const result = of.rules->call(of.options, ops, in[0]);
        if (result.shape() != inputs[0])
          ops.list().fail("it gives a tensor of shape ", result.shape(), " for a weight of shape ", inputs[0]);
        return result;
      },
      inputs, false, of.rules->name);
}

/// The penalty of a regularizer of one's own, or its gradient by the weight. E1070 where it is not one number.
constexpr operations::trace trace_penalty(regularizer const& of, shape const& whole, bool gradient) {
  operations::extents const inputs[]{operations::extents::of(whole)};
  return operations::trace_call(
      [&](operations::tracer& ops, tracing::array_view<operations::tensor const> in) {
        ops.list().kind = "regularizer";
        auto const penalty = of.rules->call(of.options, ops, in[0]);
        if (penalty.shape().size() != 1)
          ops.list().fail("it gives a tensor of shape ", penalty.shape(), " for a weight of shape ", inputs[0],
                          "; a penalty is one number");
        if (!gradient || ops.list().problem.failed()) return penalty;
        int const count = ops.list().size();
        operations::differentiation gradients(ops);
        gradients.add(penalty.id, ops.full(penalty.shape(), 1));
        gradients.run(0, count);
        return gradients.has(in[0].id) ? gradients.of(in[0].id) : ops.full(inputs[0], 0);
      },
      inputs, false, of.rules->name);
}

/// The first values of a weight. E1070 where they have another shape.
constexpr operations::trace trace_initializer(initializer const& of, shape const& whole) {
  auto const extents = operations::extents::of(whole);
  return operations::trace_call(
      [&](operations::tracer& ops, tracing::array_view<operations::tensor const>) {
        ops.list().kind = "initializer";
        auto const values = of.rules->call(of.options, ops, extents);
        if (values.shape() != extents)
          ops.list().fail("it gives a tensor of shape ", values.shape(), " for a weight of shape ", extents);
        return values;
      },
      {}, false, of.rules->name);
}

// The input of each plan but that of an initializer is the weight, row by row, whatever its layout is. Plans copy what
// they are for, since Clang 19 finds members of template arguments at wrong places.

template <class Make>
class weight_plan {
  struct make {
    constexpr operations::traced_plan operator()() const { return operations::traced_plan(Make{}(), false); }
  };
  static constexpr auto const& plan = frozen_draft<make>;

 public:
  static constexpr operations::plan_view value = plan;
};

template <constraint Constraint, shape Whole>
struct trace_of_constraint {
  static constexpr constraint of = Constraint;
  static constexpr shape whole = Whole;
  constexpr operations::trace operator()() const { return trace_constraint(of, whole); }
};
template <constraint Constraint, shape Whole>
struct plan_of_constraint : weight_plan<trace_of_constraint<Constraint, Whole>> {};

template <regularizer Regularizer, shape Whole, bool Gradient>
struct trace_of_penalty {
  static constexpr regularizer of = Regularizer;
  static constexpr shape whole = Whole;
  constexpr operations::trace operator()() const { return trace_penalty(of, whole, Gradient); }
};
template <regularizer Regularizer, shape Whole, bool Gradient>
struct plan_of_penalty : weight_plan<trace_of_penalty<Regularizer, Whole, Gradient>> {};

template <initializer Initializer, shape Whole>
struct trace_of_initializer {
  static constexpr initializer of = Initializer;
  static constexpr shape whole = Whole;
  constexpr operations::trace operator()() const { return trace_initializer(of, whole); }
};
template <initializer Initializer, shape Whole>
struct plan_of_initializer : weight_plan<trace_of_initializer<Initializer, Whole>> {};

/// True if tiles carry out all operations of a plan for a weight: maps, sums and maxima.
constexpr bool has_weight_lowering(operations::plan_view const& plan) {
  for (int const id : plan.forward) {
    auto const& [what, shape, first, operands, has_gradient, type] = plan.nodes[id];
    bool const is_known = is_alias(what) || what.is_any<operations::map, operations::reduce, operations::broadcast,
                                                        operations::input, operations::constant>();
    if (!is_known) return false;
  }
  return true;
}

}  // namespace stagecraft::jobs
