// SPDX-License-Identifier: BSD-3-Clause
// What becomes of a weight on the host after its update. Level 5.
#pragma once

#include <stagecraft/execution/parameter_update.hpp>
#include <stagecraft/execution/traced/plan_runner.hpp>
#include <stagecraft/execution/weight_layout.hpp>
#include <stagecraft/program/constraint_plan.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace stagecraft::detail {

/// `Plan` is that of any pass of training.
template <class Plan>
class weight_constraint {
  using architecture = typename Plan::architecture;
  using layout = weight_layout<typename Plan::model, architecture>;
  static constexpr auto const& parameters = Plan::graph.parameters;
  template <std::size_t Parameter>
  static constexpr operations::plan_view const& plan =
      plan_of_constraint<parameters[Parameter].constraint, parameters[Parameter].shape>::value;

 public:
  /// Whether there is one that training applies.
  template <std::size_t Parameter>
  [[nodiscard]] static constexpr bool applies() {
    return !parameters[Parameter].constraint.empty() && parameters[Parameter].trainable &&
           parameter_update<Plan, Parameter>::has_gradient;
  }

  /// The whole weight, in `weights`, becomes what its constraint says. `workspace`: see `workspace_floats`.
  template <std::size_t Parameter>
  static void apply(float* weights, float* workspace) {
    if constexpr (applies<Parameter>()) {
      float* const stored = weights + Plan::weights.offset[Parameter];
      constexpr auto room = whole_lines(parameters[Parameter].size());
      float* const whole = layout::template is_packed<Parameter> ? workspace : stored;
      if constexpr (layout::template is_packed<Parameter>) layout::template unpack<Parameter>(stored, whole);
      std::array<float*, plan<Parameter>.nodes.size()> addresses;
      plan_runner<architecture> runner(plan<Parameter>, workspace + 2 * room, addresses);
      float const* const inputs[]{whole};
      runner.forward({inputs, workspace + room});
      layout::template pack<Parameter>(runner.address(plan<Parameter>.output), stored);
    }
  }

  /// Whether any weight has one.
  [[nodiscard]] static constexpr bool has_work() {
    return []<std::size_t... Parameter>(std::index_sequence<Parameter...>) {
      return (false || ... || applies<Parameter>());
    }(std::make_index_sequence<Plan::weights.count>{});
  }
  [[nodiscard]] static constexpr long long workspace_floats() {
    return []<std::size_t... Parameter>(std::index_sequence<Parameter...>) {
      long long largest = 0;
      for (long long const floats : {0LL, floats_of<Parameter>()...}) largest = std::max(largest, floats);
      return largest;
    }(std::make_index_sequence<Plan::weights.count>{});
  }
  static void apply_all(float* weights, float* workspace) {
    [&]<std::size_t... Parameter>(std::index_sequence<Parameter...>) {
      [[maybe_unused]] int const done[]{0, (apply<Parameter>(weights, workspace), 0)...};
    }(std::make_index_sequence<Plan::weights.count>{});
  }

 private:
  static constexpr long long whole_lines(long long floats) { return (floats + 15) / 16 * 16; }
  template <std::size_t Parameter>
  static constexpr long long floats_of() {
    if constexpr (applies<Parameter>())
      return 2 * whole_lines(parameters[Parameter].size()) + plan_runner<architecture>::floats(plan<Parameter>);
    else
      return 0;
  }
};

}  // namespace stagecraft::detail
