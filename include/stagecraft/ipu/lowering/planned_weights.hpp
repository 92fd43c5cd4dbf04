// SPDX-License-Identifier: BSD-3-Clause
// How each weight of a model lies on the tiles of its IPU.
#pragma once

#include <stagecraft/ipu/lowering/lowered_call.hpp>
#include <stagecraft/ipu/lowering/lowerings.hpp>
#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace stagecraft::tiles {

template <class Job>
constexpr auto find_planned_weights() {
  using unstaged = typename Job::template of<typename traced_model<typename Job::model>::type>;
  constexpr auto const& graph = Job::graph;
  std::array<weight_mapping const*, graph.parameters.size() + 1> result{};
  [&]<std::size_t... Layer>(std::index_sequence<Layer...>) {
    (
        [&] {
          constexpr auto const& layer = graph.layers[Layer];
          if constexpr (layer.call_count > 0 && layer.parameter_count > 0) {
            using call = lowered_call_variant<typename unstaged::template on<machine_of_weights<Job, layer.first_call>>,
                                              step_variant{}, layer.first_call>;
            for (int i = 0; i < layer.parameter_count; ++i) result[layer.first_parameter + i] = call::planned_weight(i);
          }
        }(),
        ...);
  }(std::make_index_sequence<graph.layers.size()>{});
  return result;
}
template <class Job>
inline constexpr auto planned_weights_of_machine = find_planned_weights<Job>();

/// Without options of Poplar for single stages, weights lie alike whatever stages there are.
template <class Job>
using model_of_planned_weights =
    std::conditional_t<Job::options.forward_propagation_stages_poplar_options.given(), typename Job::model,
                       typename traced_model<typename Job::model>::type>;

/// By the graph's weights; null for those that are mapped linearly. Once for all numbers of IPUs.
template <class Job>
inline constexpr auto const& planned_weights = planned_weights_of_machine<typename Job::template of<
    model_of_planned_weights<Job>>::template on<typename machine_with_one_ipu<typename Job::machine>::type>>;

}  // namespace stagecraft::tiles
