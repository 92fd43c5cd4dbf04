// SPDX-License-Identifier: BSD-3-Clause
// Functions of whole weights on the host: first values, constraints and penalties.
#pragma once

#include <stagecraft/description/weight_plans.hpp>
#include <stagecraft/engine/policy/pass_memory.hpp>
#include <stagecraft/engine/policy/weight_storage.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/host/lists/plan_runner.hpp>
#include <stagecraft/kernels/elementwise/elementwise.hpp>
#include <stagecraft/kernels/random/initial_values.hpp>
#include <stagecraft/kernels/update/update.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace stagecraft::cpu {

/// Writes the first values of a weight to `to`, row by row.
template <class M, std::size_t Parameter, class Arch>
void initial_values(std::uint64_t seed, float* to) {
  constexpr auto const& info = graph_of<M>.parameters[Parameter];
  if constexpr (info.initializer.rules != nullptr) {  // the user's own
    constexpr auto const& plan = plan_of_initializer<info.initializer, info.shape>::value;
    constexpr bool has_seed = info.initializer.seed != 0;
    aligned_block const memory(plan_runner<Arch>::floats(plan)), result(info.size());
    std::array<float*, plan.nodes.size()> addresses;
    plan_runner<Arch> runner(plan, memory.data(), addresses, has_seed ? info.initializer.seed : seed,
                             has_seed ? 0 : Parameter);
    runner.forward({{}, result.data()});
    std::copy_n(runner.address(plan.output), info.size(), to);
  }
  kernels::initialize<info.initializer.kind>(
      info.initializer, array_view<int const>(info.shape.begin(), info.shape.end()), seed, Parameter, to);
}

/// `Plan` is that of any pass; `workspace` of each function has `workspace_floats()`.
template <class Plan>
class weight_functions {
  using architecture = typename Plan::architecture;
  using layout = weight_layout<typename Plan::model, architecture>;
  using plan_view = operations::plan_view;
  static constexpr auto const& parameters = Plan::graph.parameters;
  using indices = std::make_index_sequence<Plan::weights.count>;
  template <std::size_t Parameter>
  using facts = weight_facts<Plan, Parameter>;
  template <std::size_t Parameter>
  static constexpr plan_view const& constraint_plan =
      plan_of_constraint<parameters[Parameter].constraint, parameters[Parameter].shape>::value;
  template <std::size_t Parameter, bool Gradient>
  static constexpr plan_view const& penalty_plan =
      plan_of_penalty<parameters[Parameter].regularizer, parameters[Parameter].shape, Gradient>::value;

 public:
  /// Applies the constraint of a whole weight.
  template <std::size_t Parameter>
  static void constrain(float* weights, float* workspace) {
    if constexpr (facts<Parameter>::has_constraint)
      layout::template pack<Parameter>(run<Parameter>(constraint_plan<Parameter>, weights, workspace),
                                       weights + Plan::weights.offset[Parameter]);
  }
  /// The penalty of a weight's regularizer.
  template <std::size_t Parameter>
  [[nodiscard]] static float penalty(float const* weights, [[maybe_unused]] float* workspace) {
    constexpr auto const& penalty = parameters[Parameter].regularizer;
    if constexpr (penalty.is_own())
      return *run<Parameter>(penalty_plan<Parameter, false>, weights, workspace);
    else
      return kernels::regularization_loss<architecture>(penalty, weights + Plan::weights.offset[Parameter],
                                                        Plan::weights.size[Parameter]);
  }
  /// Adds `times` the gradient of a penalty of the user's own to that of the weight.
  template <std::size_t Parameter>
  static void add_penalty_gradient(float const* weights, float* gradients, float times, float* workspace) {
    if constexpr (facts<Parameter>::has_penalty_gradient) {
      constexpr auto offset = Plan::weights.offset[Parameter], size = Plan::weights.size[Parameter];
      float const* const gradient = run<Parameter>(penalty_plan<Parameter, true>, weights, workspace);
      float* const stored = workspace + 2 * room<Parameter>;
      layout::template pack<Parameter>(gradient, stored);
      kernels::scaled_add<true, architecture>(times, stored, gradients + offset, size);
    }
  }

  [[nodiscard]] static constexpr long long workspace_floats() {
    long long largest = 0;
    for_each([&]<std::size_t Parameter>() {
      if constexpr (facts<Parameter>::has_constraint)
        largest = std::max(largest, floats_of<Parameter>(constraint_plan<Parameter>));
      if constexpr (parameters[Parameter].regularizer.is_own()) {
        largest = std::max(largest, floats_of<Parameter>(penalty_plan<Parameter, false>));
        if constexpr (facts<Parameter>::has_penalty_gradient)
          largest = std::max(largest, floats_of<Parameter>(penalty_plan<Parameter, true>));
      }
    });
    return largest;
  }

 private:
  template <class Each>
  static constexpr void for_each(Each const& each) {
    [&]<std::size_t... Parameter>(std::index_sequence<Parameter...>) {
      [[maybe_unused]] int const done[] { 0, (each.template operator()<Parameter>(), 0)... };
    }(indices{});
  }
  /// Floats of a weight in whole cache lines, in either layout.
  template <std::size_t Parameter>
  static constexpr long long room = (Plan::weights.size[Parameter] + 15) / 16 * 16;
  // The weight row by row, the result, the result as it is stored, and what the plan needs.
  template <std::size_t Parameter>
  static constexpr long long floats_of(plan_view const& plan) {
    return 3 * room<Parameter> + plan_runner<architecture>::floats(plan);
  }

  /// Carries out a plan on a weight. Returns the result, row by row.
  template <std::size_t Parameter>
  static float const* run(plan_view const& plan, float const* weights, float* workspace) {
    float const* whole = weights + Plan::weights.offset[Parameter];
    if constexpr (layout::template is_packed<Parameter>) {
      layout::template unpack<Parameter>(whole, workspace);
      whole = workspace;
    }
    std::array<float*, most_operations> addresses;
    plan_runner<architecture> runner(plan, workspace + 3 * room<Parameter>,
                                     tracing::array_view<float*>(addresses).first(plan.nodes.size()));
    float const* const inputs[]{whole};
    runner.forward({inputs, workspace + room<Parameter>});
    return runner.address(plan.output);
  }
  static constexpr std::size_t most_operations = [] {
    std::size_t most = 0;
    for_each([&]<std::size_t Parameter>() {
      if constexpr (facts<Parameter>::has_constraint) most = std::max(most, constraint_plan<Parameter>.nodes.size());
      if constexpr (parameters[Parameter].regularizer.is_own())
        most =
            std::max({most, penalty_plan<Parameter, false>.nodes.size(), penalty_plan<Parameter, true>.nodes.size()});
    });
    return most;
  }();
};

}  // namespace stagecraft::cpu
