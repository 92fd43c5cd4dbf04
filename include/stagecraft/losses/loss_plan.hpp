// SPDX-License-Identifier: BSD-3-Clause
// A loss that is written as a `call`, as operations on one row.
#pragma once

#include <stagecraft/losses/loss.hpp>
#include <stagecraft/operations/plan/traced_plan.hpp>

namespace stagecraft::losses::detail {

/// Inputs are the row's targets and outputs; wanted is the gradient of the latter.
template <auto Loss, int Columns>
class plan_of_loss {
  struct make {
    constexpr operations::traced_plan operator()() const {
      auto traced = trace_loss(Loss, Columns);
      bool const wanted[]{false, true};
      return operations::traced_plan(std::move(traced), true, wanted);
    }
  };
  static constexpr auto const& plan = frozen<make>;

 public:
  static constexpr operations::plan_view value = plan;
};

}  // namespace stagecraft::losses::detail
