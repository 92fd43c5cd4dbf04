// SPDX-License-Identifier: BSD-3-Clause
// How a loss that is written as a `call` is computed, row by row. Level 5.
#pragma once

#include <stagecraft/execution/traced/list_runner.hpp>
#include <stagecraft/kernels/loss_row.hpp>
#include <stagecraft/losses/loss_plan.hpp>
#include <array>
#include <span>

namespace stagecraft {

/// Carries out the plan of a row of a loss (plan_of_loss), on memory of the caller's.
template <class Arch = kernels::default_architecture>
class traced_loss_row {
 public:
  using plan_view = operations::plan_view;

  /// Floats of memory for a plan, begins of cache lines included.
  [[nodiscard]] static constexpr std::int64_t floats(plan_view const& plan) {
    return plan.kept_floats + list_runner<Arch>::workspace_of_steps(plan) + static_cast<std::int64_t>(2 * line);
  }
  /// `memory`: `floats(plan)`, aligned to 64 bytes; `addresses`: one for each operation.
  traced_loss_row(plan_view const& plan, float* memory, std::span<float*> addresses)
      : plan_(plan),
        loss_(memory),
        kept_(memory + 2 * line),
        workspace_(kept_ + plan.kept_floats),
        addresses_(addresses) {}

  /// The loss of the row, and scale times its gradient unless `gradient` is null, which may be `prediction`.
  float evaluate(float const* target, float const* prediction, float scale, float* gradient) {
    loss_[line] = scale;
    run(plan_.forward, plan_.forward_places, plan_.forward_workspace, target, prediction);
    float const result = *addresses_[at(plan_.output)];
    if (gradient == nullptr) return result;
    run(plan_.backward, plan_.backward_places, plan_.backward_workspace, target, prediction);
    int const id = plan_.gradients[1], columns = plan_.nodes[at(1)].shape[-1];
    if (id >= 0)
      std::memmove(gradient, addresses_[at(id)], at(columns) * sizeof(float));
    else
      std::memset(gradient, 0, at(columns) * sizeof(float));
    return result;
  }

 private:
  static constexpr std::size_t line = 16;
  static std::size_t at(int id) { return static_cast<std::size_t>(id); }

  void run(std::span<int const> order, std::span<operations::place const> places, std::int64_t of_values,
           float const* target, float const* prediction) {
    for (std::size_t id = 0; id < places.size(); ++id) addresses_[id] = address(places[id], target, prediction);
    list_runner<Arch>(plan_.nodes, plan_.operands, addresses_, workspace_ + of_values, 0, 0).run(order);
  }
  float* address(operations::place const& where, float const* target, float const* prediction) const {
    switch (where.in) {
      // Nothing writes to constants and inputs through it.
      case operations::storage::constant:
        return const_cast<float*>(&plan_.nodes[at(where.index)].what.as<operations::constant>().value);
      case operations::storage::input: return const_cast<float*>(where.index == 0 ? target : prediction);
      case operations::storage::output: return loss_;
      case operations::storage::output_gradient: return loss_ + line;
      case operations::storage::kept: return kept_ + where.offset;
      case operations::storage::workspace: return workspace_ + where.offset;
      default: return nullptr;
    }
  }

  plan_view const& plan_;
  float *loss_, *kept_, *workspace_;
  std::span<float*> addresses_;
};

}  // namespace stagecraft

namespace stagecraft::kernels {

template <auto Loss, int Columns, class Arch, class Type>
  requires(stagecraft::detail::HasLossCall<Type> && !stagecraft::detail::HasPlainLossCall<Type>)
struct loss_row<Loss, Columns, Arch, Type> {
  static float evaluate(float const* target, float const* prediction, float scale, float* gradient) {
    constexpr auto const& plan = stagecraft::detail::plan_of_loss<Loss, Columns>::value;
    alignas(64) std::array<float, static_cast<std::size_t>(traced_loss_row<Arch>::floats(plan))> memory;
    std::array<float*, plan.nodes.size()> addresses;
    return traced_loss_row<Arch>(plan, memory.data(), addresses).evaluate(target, prediction, scale, gradient);
  }
};

}  // namespace stagecraft::kernels
