// SPDX-License-Identifier: BSD-3-Clause
// Training and inference with a network of oneDNN's primitives. `Network` derives from onednn_network and is made from
// (batch size, whether it trains, first weights).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "onednn_network.hpp"

namespace stagecraft::benchmarks {

template <class Network, int Batch, optimizer_kind Optimizer>
class onednn_training {
 public:
  explicit onednn_training(network_weights const& weights)
      : network_(Batch, true, weights), optimizers_(network_.parameter_count()) {}

  /// One step on a batch and its labels. Gives the mean loss before it.
  float train_on_batch(float const* x, std::int32_t const* labels) {
    float const* const logits = network_.forward(x);
    float const loss = softmax_cross_entropy<10>(Batch, logits, labels, network_.logits_gradient());
    network_.backward([&](std::size_t parameter, float* w, float const* gradient, std::int64_t size) {
      optimizers_[parameter].update(w, gradient, size);
    });
    return loss;
  }

 private:
  Network network_;
  std::vector<hand_written_optimizer<Optimizer>> optimizers_;
};

template <class Network, int Batch>
class onednn_inference {
 public:
  explicit onednn_inference(network_weights const& weights) : network_(Batch, false, weights) {}

  /// The logits of a batch.
  float const* predict_on_batch(float const* x) { return network_.forward(x); }

 private:
  Network network_;
};

}  // namespace stagecraft::benchmarks
