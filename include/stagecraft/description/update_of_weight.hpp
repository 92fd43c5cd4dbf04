// SPDX-License-Identifier: BSD-3-Clause
// The update of one weight: the training's optimizer as the weight sees it (exclude_from_weight_decay), and the
// gradient of its penalty, which the optimizer reads if it uses norms.
#pragma once

#include <stagecraft/description/job.hpp>
#include <stagecraft/description/replication.hpp>
#include <stagecraft/description/training.hpp>
#include <stagecraft/models/model_graph.hpp>
#include <stagecraft/optimizers/captured_gradient.hpp>
#include <stagecraft/optimizers/dynamic_loss_scale.hpp>
#include <stagecraft/optimizers/optimizer.hpp>
#include <stagecraft/optimizers/weight_decay.hpp>
#include <stagecraft/regularizers/regularizers.hpp>
#include <cstddef>
#include <string_view>
#include <type_traits>

namespace stagecraft::jobs {

/// The name of a weight for such a filter: "dense/kernel".
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
    return optimizer_of(optimizer, full_name(Job::graph, static_cast<int>(Weight)),
                        Job::graph.layer(Job::graph.layer_of_parameter(static_cast<int>(Weight))).name.view());
  else
    return optimizer;
}

/// The training's optimizer, without what the weight is excluded from; of a gradient that is kept, that keeps it.
template <class Job, std::size_t Weight>
inline constexpr auto optimizer_of_weight = find_optimizer_of_weight<Job, Weight>();

/// The number of times that the gradient of an update contains a penalty's: each micro-batch's loss contains the
/// penalty, in each replica, so a sum of gradients contains it as often; all as the optimizer scales the loss, but for
/// what changes.
template <class Job, int Replicas>
inline constexpr float penalties_in_gradient = [] {
  constexpr pipelining_options options = Job::options;
  bool const sum = options.reduction_method == gradient_accumulation_reduction_method::sum;
  bool const sum_of_replicas = Job::training.cross_replica_reduction == cross_replica_reduction::sum;
  constexpr auto optimizer = Job::training.optimizer;
  return loss_scale_of(optimizer) *
         static_cast<float>((sum ? options.accumulation_steps() : 1) * (sum_of_replicas ? Replicas : 1));
}();

/// An optimizer of a weight whose gradient is still without that of its penalty.
template <class Optimizer>
struct penalized {
  Optimizer optimizer;
  float l1, l2;
  stagecraft::learning_rate learning_rate = optimizer.learning_rate;

  static constexpr std::string_view name = Optimizer::name;

  constexpr void update(auto& ops, auto weight, auto gradient) const {
    auto const scaled = [&](auto penalty) {
      return loss_scale_rule_of(optimizer).growth_steps > 0 ? penalty * ops.loss_scale() : penalty;
    };
    if (l2 != 0) gradient = gradient + scaled(weight * (2 * l2));
    if (l1 != 0) gradient = gradient + scaled(sign(weight) * l1);
    optimizer.update(ops, weight, prepared_gradient(optimizer, ops, gradient));
  }

  friend constexpr bool operator==(penalized const&, penalized const&) = default;
};

template <class Job, std::size_t Weight, int Replicas>
constexpr auto find_update_of_weight() {
  constexpr auto optimizer = optimizer_of_weight<Job, Weight>;
  constexpr regularizer penalty = Job::graph.parameters[Weight].regularizer;
  if constexpr (norms_of<optimizer>.count > 0 && !penalty.empty() && !penalty.is_own()) {
    constexpr float times = penalties_in_gradient<Job, Replicas>;
    return penalized{optimizer, penalty.l1 * times, penalty.l2 * times};
  } else {
    return optimizer;
  }
}

/// The optimizer of a weight, of a model with `Replicas` replicas.
template <class Job, std::size_t Weight, int Replicas>
inline constexpr auto update_of_weight = find_update_of_weight<Job, Weight, Replicas>();

/// The penalty whose gradient has to be added to the weight's before that.
template <class Job, std::size_t Weight, int Replicas>
inline constexpr regularizer penalty_of_update = [] {
  constexpr regularizer penalty = Job::graph.parameters[Weight].regularizer;
  if constexpr (penalty.empty() || penalty.is_own() || norms_of<optimizer_of_weight<Job, Weight>>.count > 0)
    return regularizer{};
  else {
    constexpr float times = penalties_in_gradient<Job, Replicas>;
    return regularizers::l1_l2{penalty.l1 * times, penalty.l2 * times};
  }
}();

}  // namespace stagecraft::jobs
