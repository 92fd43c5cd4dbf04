// SPDX-License-Identifier: BSD-3-Clause
// The update of one weight on the host: its gradients are accumulated over micro-batches, summed over the calls of a
// layer and applied by the optimizer. Each function works on a range of elements.
#pragma once

#include <stagecraft/engine/policy/pass_memory.hpp>
#include <stagecraft/engine/policy/weight_storage.hpp>
#include <stagecraft/kernels/elementwise/elementwise.hpp>
#include <stagecraft/kernels/update/accumulate.hpp>
#include <stagecraft/kernels/update/update.hpp>
#include <stagecraft/optimizers/dynamic_loss_scale.hpp>
#include <cstddef>
#include <cstdint>

namespace stagecraft::cpu {

template <class Plan, std::size_t Parameter>
struct parameter_update : weight_facts<Plan, Parameter> {
  using weight = weight_facts<Plan, Parameter>;
  using range = kernels::share::range;
  using architecture = typename Plan::architecture;
  using weight::info, weight::offset, weight::calls, weight::used_by;

  /// Makes an accumulator ready for a micro-batch, of which `memory.accumulated` came before: a sum begins with 0, and
  /// a running mean of what is there is scaled down. `shift` is that of the call (gradient_storage). Halves are made
  /// ready when they are added to.
  static void begin(pass_memory const& memory, long long shift, range elements) {
    if constexpr (Plan::adds_parameter_gradients) {
      constexpr bool running = Plan::options.reduction_method == gradient_accumulation_reduction_method::running_mean;
      float* const gradient = memory.gradients + offset + shift + elements.first;
      if (memory.accumulated == 0)
        kernels::fill<architecture>(gradient, 0.0F, elements.last - elements.first);
      else if (running)
        kernels::scaled_add<false, architecture>(factors(memory).accumulated, gradient, gradient,
                                                 elements.last - elements.first);
    }
  }

  /// Adds a micro-batch's gradient to an accumulator in half precision.
  static void accumulate(pass_memory const& memory, long long shift, range elements) {
    auto const first = offset + shift + elements.first;
    kernels::accumulate_gradient<architecture>({factors(memory).accumulated, 1.0F}, memory.gradients + first,
                                               memory.halves + first, elements.last - elements.first);
  }

  /// Brings the gradients of all calls together in the last call's place, from the last call to the first.
  static void sum_calls(pass_memory const& memory, range elements) {
    if constexpr (!Plan::accumulates_halves && calls == 1) return;
    auto const count = elements.last - elements.first;
    float* const sum = memory.gradients + offset + elements.first;
    for (int call = static_cast<int>(Plan::graph.calls.size()); call-- > 0;) {
      auto const& planned = Plan::model_plan.calls[call];
      if (!planned.needs_gradient || !used_by(call)) continue;
      auto const shift = Plan::gradients.shift[call];
      if constexpr (Plan::accumulates_halves)
        kernels::floats_of_halves<architecture>(memory.halves + (sum - memory.gradients) + shift, sum + shift, count);
      if (shift != 0) kernels::scaled_add<true, architecture>(1.0F, sum + shift, sum, count);
    }
  }

  /// Adds the squares of what norms of the optimizer's step are taken of, a number for each bit of `Which`.
  template <unsigned Which>
  static void add_squares(pass_memory const& memory, optimizer_state const& state, range elements, double* sums) {
    auto const first = offset + elements.first;
    kernels::add_squares<weight::optimizer, Which, architecture>(
        kernels::given_everywhere<weight::optimizer>(memory.learning_rate, memory.update, memory.norms,
                                                     memory.loss_scale),
        memory.weights + first, memory.gradients + first, state.slots, state.stride, elements.last - elements.first,
        [first = elements.first](std::int64_t i) { return elements_from(first + i); }, sums);
  }

  /// Changes the weights by their gradients, to which that of the penalty is added first; unless the backward step that
  /// has found the gradients has done that.
  static void apply(pass_memory const& memory, optimizer_state const& state, range elements) {
    if constexpr (weight::is_joined) return;
    auto const count = elements.last - elements.first;
    float* const gradient = memory.gradients + offset + elements.first;
    float* const values = memory.weights + offset + elements.first;
    constexpr regularizer penalty = penalty_of_update<typename Plan::job::described, Parameter, Plan::job::replicas>;
    if constexpr (!penalty.empty())
      kernels::add_regularization_gradient<architecture>(penalty, values, gradient, count);
    kernels::update<weight::optimizer, architecture>(memory.learning_rate, memory.update, values, gradient, state.slots,
                                                     state.stride, count, memory.norms, memory.loss_scale);
  }

 private:
  /// Number of elements in a register that begins at the weight's float i. They come first in it.
  static int elements_from(std::int64_t i) {
    constexpr int width = kernels::lanes<architecture>;
    if constexpr (info.layout == parameter_layout::matrix)
      return kernels::packed_groups<info.rows(), info.columns(), info.groups, architecture>::elements_from(i, width);
    else
      return i + width <= info.size() ? width : i < info.size() ? static_cast<int>(info.size() - i) : 0;
  }
  static kernels::accumulation_factors factors(pass_memory const& memory) {
    return kernels::accumulation_factors_of(Plan::options.reduction_method, memory.accumulated,
                                            Plan::options.accumulation_steps());
  }
};

/// The factor of the loss's gradient of a micro-batch, after which gradients only have to be added. It has the
/// optimizer's scale of losses in it.
template <class Plan>
[[nodiscard]] float gradient_factor(int accumulated) {
  constexpr float scale = loss_scale_of(Plan::training.optimizer);
  return scale * kernels::accumulation_factors_of(Plan::options.reduction_method, accumulated,
                                                  Plan::options.accumulation_steps())
                     .gradient;
}

}  // namespace stagecraft::cpu
