// SPDX-License-Identifier: BSD-3-Clause
// Where each weight, its gradient and the optimizer's state lie, in the layout of one architecture's kernels, and what
// a plan says of a weight.
#pragma once

#include <stagecraft/description/update_of_weight.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/kernels/product/packed_matrix.hpp>
#include <stagecraft/plan/model_plan.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace stagecraft::engine {

template <class M, std::size_t Parameter, class Arch>
constexpr long long floats_of_weight() {
  constexpr auto const& weight = graph_of<M>.parameters[Parameter];
  if constexpr (weight.layout == parameter_layout::matrix)
    return kernels::packed_groups<weight.rows(), weight.columns(), weight.groups, Arch>::size;
  else
    return (weight.size() + 63LL) / 64 * 64;
}

/// Offsets of a model's weights in one block, in floats. Gradients and each number of the optimizer's state have the
/// same layout.
template <class M, class Arch>
struct weight_storage {
  static constexpr std::size_t count = graph_of<M>.parameters.size();

  std::array<long long, count> offset{};
  std::array<long long, count> size{};
  long long floats = 0;

  template <std::size_t... Parameter>
  constexpr explicit weight_storage(std::index_sequence<Parameter...>)
      : size{floats_of_weight<M, Parameter, Arch>()...} {
    for (std::size_t i = 0; i < count; ++i) {
      offset[i] = floats;
      floats += size[i];
    }
  }
};

template <class M, class Arch>
inline constexpr weight_storage<M, Arch> weight_storage_of{std::make_index_sequence<weight_storage<M, Arch>::count>{}};

/// Offsets of the gradients of the weights, in floats. Each call of a layer has its own, so that the sum over
/// micro-batches does not depend on the order of calls; that of the last call stands where the weights do.
template <class M, class Arch>
struct gradient_storage {
  std::array<long long, graph_of<M>.calls.size()> shift{};  ///< distance from a weight's offset to that of its gradient
  long long floats = weight_storage_of<M, Arch>.floats;

  template <class ModelPlan>
  constexpr explicit gradient_storage(ModelPlan const& model_plan) {
    constexpr auto const& graph = graph_of<M>;
    constexpr auto const& weights = weight_storage_of<M, Arch>;
    for (std::size_t i = shift.size(); i-- > 0;) {
      auto const& planned = model_plan.calls[i];
      auto const& layer = graph.layer_of(static_cast<int>(i));
      if (!planned.needs_gradient || planned.writes_parameter_gradient || layer.parameter_count == 0) continue;
      auto const first = static_cast<std::size_t>(layer.first_parameter);
      shift[i] = floats - weights.offset[first];
      for (int k = 0; k < layer.parameter_count; ++k) floats += weights.size[first + static_cast<std::size_t>(k)];
    }
  }
};

template <class Job, class Arch>
inline constexpr gradient_storage<typename Job::model, Arch> gradient_storage_of{
    model_plan_for<typename Job::in_training>};

/// The weights of a model in one block, each where weight_storage_of says.
template <Model M, class Arch>
struct weight_layout {
  static constexpr auto const& graph = graph_of<M>;
  static constexpr auto const& storage = weight_storage_of<M, Arch>;

  /// True if a weight stands in panels of columns, for matrix products; else row by row.
  template <std::size_t Parameter>
  static constexpr bool is_packed = graph.parameters[Parameter].layout == parameter_layout::matrix;
  template <std::size_t Parameter>
  using packed = kernels::packed_groups<graph.parameters[Parameter].rows(), graph.parameters[Parameter].columns(),
                                        graph.parameters[Parameter].groups, Arch>;

  /// Copy one parameter to and from its own, row-major shape.
  template <std::size_t Parameter>
  static void unpack(float const* stored, float* row_major) {
    if constexpr (is_packed<Parameter>)
      packed<Parameter>::unpack(stored, row_major);
    else
      std::copy_n(stored, graph.parameters[Parameter].size(), row_major);
  }
  template <std::size_t Parameter>
  static void pack(float const* row_major, float* stored) {
    if constexpr (is_packed<Parameter>)
      packed<Parameter>::pack(row_major, stored);
    else
      std::copy_n(row_major, graph.parameters[Parameter].size(), stored);
  }
  /// Copy one parameter from and to the block of all weights.
  template <std::size_t Parameter>
  static void read(float const* weights, float* row_major) {
    unpack<Parameter>(weights + storage.offset[Parameter], row_major);
  }
  template <std::size_t Parameter>
  static void write(float const* row_major, float* weights) {
    pack<Parameter>(row_major, weights + storage.offset[Parameter]);
  }
};

/// The facts of one weight in a plan of any pass.
template <class Plan, std::size_t Parameter>
struct weight_facts {
  static constexpr auto const& info = Plan::graph.parameters[Parameter];
  static constexpr long long size = Plan::weights.size[Parameter];
  static constexpr long long offset = Plan::weights.offset[Parameter];
  /// The optimizer that updates the weight, by the mean over replicas or their sum.
  static constexpr auto optimizer = update_of_weight<typename Plan::job::described, Parameter, Plan::job::replicas>;

  /// True if a call's layer has this weight.
  [[nodiscard]] static constexpr bool used_by(int call) {
    return Plan::graph.layer_of(call).has_parameter(static_cast<int>(Parameter));
  }
  /// Calls that contribute to its gradient.
  static constexpr int calls = gradients_of_weight(Plan::graph, Plan::model_plan, static_cast<int>(Parameter));
  /// True if any loss depends on the weight. Keras leaves other weights as they are, too.
  static constexpr bool has_gradient = calls > 0;
  /// True if training changes the weight.
  static constexpr bool is_trained = info.trainable && has_gradient;
  static constexpr bool has_constraint = is_trained && !info.constraint.empty();
  /// True if the gradient of a penalty of the user's own is added to that of the weight.
  static constexpr bool has_penalty_gradient = is_trained && info.regularizer.is_own();
  /// True if backward steps update the weight, each with the gradient that it finds.
  static constexpr bool is_joined = [] {
    constexpr int call = Plan::graph.layer(Plan::graph.layer_of_parameter(static_cast<int>(Parameter))).first_call;
    constexpr int index = static_cast<int>(Parameter) - Plan::graph.layer_of(call).first_parameter;
    return Plan::fuses_update(call, index) || Plan::updates_rows(call, index);
  }();
};

/// True if `has<Parameter>()` is true of any weight of a plan.
template <class Plan, class Has>
[[nodiscard]] constexpr bool any_weight(Has const& has) {
  return [&]<std::size_t... Parameter>(std::index_sequence<Parameter...>) {
    return (false || ... || has.template operator()<Parameter>());
  }(std::make_index_sequence<Plan::weights.count>{});
}
template <class Plan>
inline constexpr bool have_constraints =
    any_weight<Plan>([]<std::size_t Parameter>() { return weight_facts<Plan, Parameter>::has_constraint; });
template <class Plan>
inline constexpr bool have_penalty_gradients =
    any_weight<Plan>([]<std::size_t Parameter>() { return weight_facts<Plan, Parameter>::has_penalty_gradient; });

}  // namespace stagecraft::engine
