// SPDX-License-Identifier: BSD-3-Clause
// An elementwise activation and its gradient as formulas, traced from its operations.
#pragma once

#include <stagecraft/activations/activation_call.hpp>
#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/operations/differentiation.hpp>
#include <stagecraft/operations/formula.hpp>

namespace stagecraft::activations::detail {

/// The formula of f(x), or with `gradient` that of f'(x) dy; its arguments are then dy and x.
constexpr operations::formula trace_activation(activation const& function, bool gradient) {
  using namespace operations;
  operation_list list;
  growing_array<parameter> weights;
  tracer ops(list, weights);
  tensor const dy = gradient ? ops.append(operations::input{0}, {}) : tensor{};
  tensor const x = ops.append(operations::input{gradient ? 1 : 0}, {});
  tensor const y = function(x);
  if (!gradient) return {list, {y.id}};
  int const count = list.size();
  differentiation gradients(ops);
  gradients.add(y.id, dy);
  gradients.run(0, count);
  return {list, {gradients.has(x.id) ? gradients.of(x.id).id : number(list, 0).id}};
}

template <activation Function, bool Gradient>
struct activation_formula {
  constexpr operations::formula operator()() const { return trace_activation(Function, Gradient); }
};

template <activation Function, bool Gradient>
inline constexpr auto const& formula_of_activation = frozen_draft<activation_formula<Function, Gradient>>;
template <activation Function, bool Gradient>
inline constexpr operations::formula_view view_of_activation{formula_of_activation<Function, Gradient>.steps,
                                                             formula_of_activation<Function, Gradient>.results};

/// Reports E1083 for an activation of the user's own that takes too many operations.
constexpr void check_formula(activation const& function, diagnostic& problem) {
  auto const gradient = trace_activation(function, true);
  if (gradient.problem.failed() && !problem.failed()) problem = gradient.problem;
  if (auto const count = gradient.steps.size(); count > operations::formula_view::most_steps)
    problem.report(1083, "activation '", function.name(), "' takes ", static_cast<int>(count),
                   " operations with its gradient; there are at most ",
                   static_cast<int>(operations::formula_view::most_steps));
}
template <activation Function>
inline constexpr diagnostic activation_formula_problem = [] {
  diagnostic problem;
  check_formula(Function, problem);
  return problem;
}();

/// The formula of the user's own activation; null for others, which machines know by their kind.
template <activation Function, bool Gradient>
constexpr operations::formula_view const* own_formula() {
  if constexpr (Function.kind == activation_kind::own) {
    static_assert(report<activation_formula_problem<Function>>());
    return &view_of_activation<Function, Gradient>;
  } else {
    return nullptr;
  }
}

}  // namespace stagecraft::activations::detail
