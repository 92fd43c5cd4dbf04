// SPDX-License-Identifier: BSD-3-Clause
// Where each weight, its gradient and the optimizer's state lie, in the layout of one architecture's kernels. Constants
// only.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/kernels/product/packed_matrix.hpp>
#include <stagecraft/plan/model_plan.hpp>
#include <array>
#include <cstddef>
#include <utility>

namespace stagecraft::cpu {

template <class M, std::size_t Parameter, class Arch>
constexpr long long floats_of_weight() {
  constexpr auto const& weight = graph_of<M>.parameters[Parameter];
  if constexpr (weight.layout == parameter_layout::matrix)
    return kernels::packed_groups<weight.rows(), weight.columns(), weight.groups, Arch>::size;
  else
    return (weight.size() + 63LL) / 64 * 64;
}

/// Where a model's weights lie in one block, in floats. Gradients and each slot of the optimizer's state have the same
/// layout.
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

/// Where the gradients of the weights lie, in floats. Each call of a layer has its own, so that the sum over
/// micro-batches does not depend on the order of calls; that of the last call stands where the weights do.
template <class M, class Arch>
struct gradient_storage {
  std::array<long long, graph_of<M>.calls.size()> shift{};  ///< from a weight's offset to that of its gradient
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

}  // namespace stagecraft::cpu
