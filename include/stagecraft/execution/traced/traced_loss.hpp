// SPDX-License-Identifier: BSD-3-Clause
// How a loss that is written as a `call` is computed, row by row. Level 5.
#pragma once

#include <stagecraft/execution/traced/list_runner.hpp>
#include <stagecraft/kernels/loss_row.hpp>
#include <stagecraft/losses/loss.hpp>
#include <stagecraft/operations/traced_plan.hpp>
#include <array>

namespace stagecraft::detail {

/// The plan of a row of a loss.
template <auto Loss, int Columns>
class plan_of_loss {
  struct make {
    constexpr operations::traced_plan operator()() const {
      auto traced = trace_loss(Loss, Columns);
      bool const wanted[]{false, true};
      return operations::traced_plan(std::move(traced), true, wanted);
    }
  };

 public:
  static constexpr auto value = operations::freeze_plan(make{});
  static constexpr std::int64_t kept_floats = make{}().kept_floats;
};

}  // namespace stagecraft::detail

namespace stagecraft::kernels {

template <auto Loss, int Columns, class Arch, class Type>
  requires stagecraft::detail::HasLossCall<Type>
struct loss_row<Loss, Columns, Arch, Type> {
  static float evaluate(float const* target, float const* prediction, float scale, float* gradient) {
    alignas(64) std::array<float, kept + 1> kept_values;
    alignas(64) std::array<float, workspace + 1> values;
    alignas(64) std::array<float, 16> loss{}, seed{scale};
    auto const run = [&](auto const& order, auto const& places, std::int64_t of_values) {
      std::array<float*, plan.nodes.size()> memory{};
      for (std::size_t id = 0; id < memory.size(); ++id) {
        auto const& [in, index, offset] = places[id];
        switch (in) {
          // Nothing writes to inputs through it.
          case operations::storage::input: memory[id] = const_cast<float*>(index == 0 ? target : prediction); break;
          case operations::storage::output: memory[id] = loss.data(); break;
          case operations::storage::output_gradient: memory[id] = seed.data(); break;
          case operations::storage::kept: memory[id] = kept_values.data() + offset; break;
          case operations::storage::workspace: memory[id] = values.data() + offset; break;
          default: break;
        }
      }
      list_runner<Arch>(plan.nodes, plan.operands, memory, values.data() + of_values, 0, 0).run(order);
      return memory;
    };
    auto const forward = run(plan.forward, plan.forward_places, plan.forward_workspace);
    float const result = *forward[static_cast<std::size_t>(plan.output)];
    if (gradient == nullptr) return result;
    int const of_prediction = plan.gradients[1];
    auto const backward = run(plan.backward, plan.backward_places, plan.backward_workspace);
    for (int i = 0; i < Columns; ++i)
      gradient[i] = of_prediction < 0 ? 0.0F : backward[static_cast<std::size_t>(of_prediction)][i];
    return result;
  }

 private:
  using traced = stagecraft::detail::plan_of_loss<Loss, Columns>;
  static constexpr auto const& plan = traced::value;
  static constexpr auto kept = static_cast<std::size_t>(traced::kept_floats);
  static constexpr auto workspace = static_cast<std::size_t>(list_runner<Arch>::workspace_of_steps(plan));
};

}  // namespace stagecraft::kernels
