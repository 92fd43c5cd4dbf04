// SPDX-License-Identifier: BSD-3-Clause
// Data parallelism: how many replicas of a model there are, and how they become one. Level 4.
#pragma once

namespace stagecraft {

/// How the gradients of all replicas become one: their sum, as Keras on IPU, or their mean, as CrossReplicaOptimizer.
enum class cross_replica_reduction : unsigned char { sum, mean };

/// Graphcore's ReplicatedMetricReductionMethod: the last replica's values, those of all, their sum or their mean.
enum class replicated_metric_reduction_method : unsigned char { none, list, sum, mean };

}  // namespace stagecraft
