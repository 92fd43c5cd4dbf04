// SPDX-License-Identifier: BSD-3-Clause
// A loss as lists of operations: at each place, if its `call` has no `ops`; else on one row.
#pragma once

#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/losses/loss.hpp>
#include <stagecraft/operations/differentiation.hpp>
#include <stagecraft/operations/formula.hpp>
#include <stagecraft/operations/plan/traced_plan.hpp>

namespace stagecraft::losses::detail {

/// The formula of a loss at each place, from the target and the output. Results are the loss and, if `WithGradient`,
/// its derivative with respect to the output.
template <auto Loss, bool WithGradient>
struct elementwise_loss {
  constexpr operations::formula operator()() const {
    using namespace operations;
    operation_list list;
    growing_array<parameter> weights;
    tracer ops(list, weights);
    extents const place{};
    tensor const target = ops.append(operations::input{0}, place), output = ops.append(operations::input{1}, place);
    tensor const each = Loss.call(target, output);
    growing_array<int> results{each.id};
    if (WithGradient) {
      int const count = list.size();
      differentiation gradients(ops);
      gradients.add(each.id, number(list, 1));
      gradients.run(0, count);
      results.push_back(gradients.has(output.id) ? gradients.of(output.id).id : number(list, 0).id);
    }
    return {list, results};
  }
};

template <auto Loss, bool WithGradient>
inline constexpr auto const& formula_of_loss = frozen_draft<elementwise_loss<Loss, WithGradient>>;
template <auto Loss, bool WithGradient>
inline constexpr operations::formula_view view_of_loss{formula_of_loss<Loss, WithGradient>.steps,
                                                       formula_of_loss<Loss, WithGradient>.results};

/// The plan of a loss on one row: inputs are targets and outputs, the result has the gradient of the outputs.
template <auto Loss, int Columns>
class plan_of_loss {
  struct make {
    constexpr operations::traced_plan operator()() const {
      auto traced = trace_loss(Loss, Columns);
      bool const wanted[]{false, true};
      return operations::traced_plan(std::move(traced), true, wanted);
    }
  };
  static constexpr auto const& plan = frozen_draft<make>;

 public:
  static constexpr operations::plan_view value = plan;
};

}  // namespace stagecraft::losses::detail
