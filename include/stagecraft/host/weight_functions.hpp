// SPDX-License-Identifier: BSD-3-Clause
// Functions of whole weights on the host: what a weight becomes after its update, and penalties of the user's own.
#pragma once

#include <stagecraft/description/weight_plans.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/host/lists/plan_runner.hpp>
#include <stagecraft/host/parameter_update.hpp>
#include <stagecraft/host/steps/weight_layout.hpp>
#include <stagecraft/kernels/elementwise/elementwise.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace stagecraft::cpu {

/// `Plan` is that of any pass; `workspace` of each function has `workspace_floats()`.
template <class Plan>
class weight_functions {
  using architecture = typename Plan::architecture;
  using layout = weight_layout<typename Plan::model, architecture>;
  using plan_view = operations::plan_view;
  static constexpr auto const& parameters = Plan::graph.parameters;
  using indices = std::make_index_sequence<Plan::weights.count>;
  template <std::size_t Parameter>
  static constexpr plan_view const& constraint_plan =
      plan_of_constraint<parameters[Parameter].constraint, parameters[Parameter].shape>::value;
  template <std::size_t Parameter, bool Gradient>
  static constexpr plan_view const& penalty_plan =
      plan_of_penalty<parameters[Parameter].regularizer, parameters[Parameter].shape, Gradient>::value;

 public:
  /// Whether training changes the weight, and it has a constraint.
  template <std::size_t Parameter>
  [[nodiscard]] static constexpr bool has_constraint() {
    return !parameters[Parameter].constraint.empty() && is_trained<Parameter>();
  }
  template <std::size_t Parameter>
  [[nodiscard]] static constexpr bool has_own_penalty() {
    return parameters[Parameter].regularizer.is_own();
  }
  /// Whether its gradient is added to that of the weight.
  template <std::size_t Parameter>
  [[nodiscard]] static constexpr bool has_penalty_gradient() {
    return has_own_penalty<Parameter>() && is_trained<Parameter>();
  }
  /// Whether any weight has a constraint.
  [[nodiscard]] static constexpr bool have_constraints() {
    return any([]<std::size_t Parameter>() { return has_constraint<Parameter>(); });
  }
  [[nodiscard]] static constexpr bool have_penalty_gradients() {
    return any([]<std::size_t Parameter>() { return has_penalty_gradient<Parameter>(); });
  }

  /// The whole weight becomes what its constraint says.
  template <std::size_t Parameter>
  static void constrain(float* weights, float* workspace) {
    if constexpr (has_constraint<Parameter>())
      layout::template pack<Parameter>(run<Parameter>(constraint_plan<Parameter>, weights, workspace),
                                       weights + Plan::weights.offset[Parameter]);
  }
  /// A penalty of the user's own.
  template <std::size_t Parameter>
  [[nodiscard]] static float penalty(float const* weights, float* workspace) {
    return *run<Parameter>(penalty_plan<Parameter, false>, weights, workspace);
  }
  /// Its gradient is added to that of the weight, `times` over.
  template <std::size_t Parameter>
  static void add_penalty_gradient(float const* weights, float* gradients, float times, float* workspace) {
    if constexpr (has_penalty_gradient<Parameter>()) {
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
      if constexpr (has_constraint<Parameter>())
        largest = std::max(largest, floats_of<Parameter>(constraint_plan<Parameter>));
      if constexpr (has_own_penalty<Parameter>()) {
        largest = std::max(largest, floats_of<Parameter>(penalty_plan<Parameter, false>));
        if constexpr (has_penalty_gradient<Parameter>())
          largest = std::max(largest, floats_of<Parameter>(penalty_plan<Parameter, true>));
      }
    });
    return largest;
  }

 private:
  template <std::size_t Parameter>
  static constexpr bool is_trained() {
    return parameters[Parameter].trainable && parameter_update<Plan, Parameter>::has_gradient;
  }
  template <class Each>
  static constexpr void for_each(Each const& each) {
    [&]<std::size_t... Parameter>(std::index_sequence<Parameter...>) {
      [[maybe_unused]] int const done[] { 0, (each.template operator()<Parameter>(), 0)... };
    }(indices{});
  }
  template <class Has>
  static constexpr bool any(Has const& has) {
    return [&]<std::size_t... Parameter>(std::index_sequence<Parameter...>) {
      return (false || ... || has.template operator()<Parameter>());
    }(indices{});
  }

  /// In whole cache lines, in either layout.
  template <std::size_t Parameter>
  static constexpr long long room = (Plan::weights.size[Parameter] + 15) / 16 * 16;
  // The weight row by row, the result, the result as it is stored, and what the plan needs.
  template <std::size_t Parameter>
  static constexpr long long floats_of(plan_view const& plan) {
    return 3 * room<Parameter> + plan_runner<architecture>::floats(plan);
  }

  /// What a plan makes of a weight, row by row.
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
      if constexpr (has_constraint<Parameter>()) most = std::max(most, constraint_plan<Parameter>.nodes.size());
      if constexpr (has_own_penalty<Parameter>())
        most =
            std::max({most, penalty_plan<Parameter, false>.nodes.size(), penalty_plan<Parameter, true>.nodes.size()});
    });
    return most;
  }();
};

}  // namespace stagecraft::cpu
