// SPDX-License-Identifier: BSD-3-Clause
// Data parallelism: how many replicas of a model there are, and how they become one.
#pragma once

namespace stagecraft {

/// The reduction of the gradients of all replicas, once per weight update and after their accumulation: their sum, as
/// in Keras on IPU, with which the effective learning rate grows with the number of replicas; or their mean, as with
/// Graphcore's CrossReplicaOptimizer. Replicas are added in their order, so that results have the same bits in each
/// run.
enum class cross_replica_reduction : unsigned char { sum, mean };

/// The replicas whose losses and metrics are reported: the last replica's, those of all, their sum or their mean.
/// Definition: keras.ipu.ReplicatedMetricReductionMethod.
enum class replicated_metric_reduction_method : unsigned char { none, list, sum, mean };

}  // namespace stagecraft
