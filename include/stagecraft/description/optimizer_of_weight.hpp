// SPDX-License-Identifier: BSD-3-Clause
// A training's optimizer as one weight sees it. Keras counterpart: `exclude_from_weight_decay` of
// tfa.optimizers.DecoupledWeightDecayExtension.
#pragma once

#include <stagecraft/description/training.hpp>
#include <stagecraft/models/model_graph.hpp>
#include <stagecraft/optimizers/captured_gradient.hpp>
#include <stagecraft/optimizers/weight_decay.hpp>
#include <string_view>
#include <type_traits>

namespace stagecraft::jobs {

/// What a weight is called for that: "dense/kernel".
constexpr fixed_text<2 * max_name_length + 1> full_name(graph_view const& graph, int weight) {
  fixed_text<2 * max_name_length + 1> result;
  result.append(graph.layer(graph.layer_of_parameter(weight)).name.view()).append('/');
  return result.append(graph.parameters[weight].name.view());
}

template <class Job, std::size_t Weight>
constexpr auto find_optimizer_of_weight() {
  constexpr auto optimizer = Job::training.optimizer;
  constexpr parameter const& weight = Job::graph.parameters[Weight];
  if constexpr (weight.is_captured())
    return optimizers::detail::captured_gradient<std::remove_cv_t<decltype(optimizer)>>{optimizer};
  else if constexpr (excludes_weights<std::remove_cv_t<decltype(optimizer)>>())
    return optimizer_of(optimizer, full_name(Job::graph, static_cast<int>(Weight)));
  else
    return optimizer;
}

/// The training's optimizer, without what the weight is excluded from; of a gradient that is kept, that keeps it.
template <class Job, std::size_t Weight>
inline constexpr auto optimizer_of_weight = find_optimizer_of_weight<Job, Weight>();

}  // namespace stagecraft::jobs
