// SPDX-License-Identifier: BSD-3-Clause
// How a loss that is written as a `call` is computed, row by row.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/host/lists/plan_runner.hpp>
#include <stagecraft/kernels/loss/loss_elementwise.hpp>
#include <stagecraft/losses/loss_formula.hpp>
#include <array>
#include <cstdint>
#include <cstring>
#include <new>

namespace stagecraft::cpu {

/// Carries out the plan of a row of a loss (plan_of_loss), on memory of the caller's.
template <class Arch = kernels::default_architecture>
class traced_loss_row {
 public:
  using plan_view = operations::plan_view;

  /// Floats of memory for a plan.
  [[nodiscard]] static constexpr std::int64_t floats(plan_view const& plan) { return plan_runner<Arch>::floats(plan); }
  /// `memory`: `floats(plan)`, aligned to 64 bytes; `addresses`: one for each operation.
  traced_loss_row(plan_view const& plan, float* memory, tracing::array_view<float*> addresses)
      : plan_(plan), runner_(plan, memory, addresses) {}

  /// The loss of the row, and scale times its gradient unless `gradient` is null, which may be `prediction`.
  float evaluate(float const* target, float const* prediction, float scale, float* gradient) {
    float const* const inputs[]{target, prediction};
    float loss = 0;
    typename plan_runner<Arch>::tensors const where{inputs, &loss, &scale};
    runner_.forward(where);
    loss = *runner_.address(plan_.output);
    if (gradient == nullptr) return loss;
    runner_.backward(where);
    int const id = plan_.gradients[1];
    auto const columns = static_cast<std::size_t>(plan_.nodes[1].shape[-1]);
    if (id >= 0)
      std::memmove(gradient, runner_.address(id), columns * sizeof(float));
    else
      std::memset(gradient, 0, columns * sizeof(float));
    return loss;
  }

 private:
  plan_view const& plan_;
  plan_runner<Arch> runner_;
};

/// The memory in which one thread computes the rows of one loss, one after the other.
struct row_memory {
  explicit row_memory(std::size_t count)
      : floats(static_cast<float*>(::operator new(count * sizeof(float), std::align_val_t{64}))) {}
  row_memory(row_memory const&) = delete;
  row_memory& operator=(row_memory const&) = delete;
  ~row_memory() { ::operator delete(floats, std::align_val_t{64}); }

  float* floats;
};

}  // namespace stagecraft::cpu

namespace stagecraft::kernels {

template <auto Loss, int Columns, class Arch, class Type>
  requires(stagecraft::detail::HasLossCall<Type> && !stagecraft::detail::HasPlainLossCall<Type>)
struct loss_row<Loss, Columns, Arch, Type> {
  /// Class numbers are floats to it.
  static float evaluate(std::int32_t const* target, float const* prediction, float scale, float* gradient) {
    std::array<float, stagecraft::detail::target_columns_of(Loss, Columns)> numbers;
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(target[i]);
    return evaluate(numbers.data(), prediction, scale, gradient);
  }
  static float evaluate(float const* target, float const* prediction, float scale, float* gradient) {
    constexpr auto const& plan = stagecraft::detail::plan_of_loss<Loss, Columns>::value;
    constexpr auto floats = static_cast<std::size_t>(cpu::traced_loss_row<Arch>::floats(plan)) + 1;
    std::array<float*, plan.nodes.size()> addresses;
    if constexpr (floats <= most_on_stack) {
      alignas(64) std::array<float, floats> memory;
      return cpu::traced_loss_row<Arch>(plan, memory.data(), addresses).evaluate(target, prediction, scale, gradient);
    } else {
      static thread_local cpu::row_memory const memory(floats);
      return cpu::traced_loss_row<Arch>(plan, memory.floats, addresses).evaluate(target, prediction, scale, gradient);
    }
  }

 private:
  /// 512 KiB; threads may have stacks of 8 MiB or less. Rows of long sequences need more.
  static constexpr std::size_t most_on_stack = std::size_t{1} << 17U;
};

}  // namespace stagecraft::kernels
