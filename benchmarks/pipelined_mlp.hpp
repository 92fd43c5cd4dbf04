// SPDX-License-Identifier: BSD-3-Clause
// The perceptron in four stages that balance, and its executions on sessions: 384 -> 256 relu -> 256 relu -> 256 relu
// -> 256. The first layer is as wide as half a layer more, since it has no gradient of its input to find.
#pragma once

#include <stagecraft/description/training.hpp>
#include <stagecraft/engine/session.hpp>
#include <stagecraft/host/host_policy.hpp>
#include <stagecraft/pipeline.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace stagecraft::benchmarks {

inline constexpr int pipelined_inputs = 384, pipelined_units = 256;
inline constexpr int pipelined_batch = 32;
/// Micro-batches per weight update and replica.
inline constexpr int pipelined_accumulation = 32;

using unpipelined_mlp = sequential<layers::input{pipelined_inputs}, layers::dense{pipelined_units, relu},
                                   layers::dense{pipelined_units, relu}, layers::dense{pipelined_units, relu},
                                   layers::dense{pipelined_units}>;
using pipelined_mlp = pipelined<unpipelined_mlp, stages<0, 1, 2, 3>>;

template <schedule Schedule = schedule::grouped, int Replicas = 1>
inline constexpr auto pipelined_training =
    training{.optimizer = optimizers::rmsprop{},
             .loss = losses::sparse_categorical_crossentropy{.from_logits = true},
             .batch_size = pipelined_batch,
             .steps_per_execution = pipelined_accumulation,
             .pipeline = {.gradient_accumulation_steps_per_replica = pipelined_accumulation,
                          .reduction_method = gradient_accumulation_reduction_method::mean,
                          .schedule = Schedule},
             .num_replicas = Replicas};

/// Floating-point operations for one sample: products and sums of the dense layers, forward, and in training.
inline constexpr double pipelined_forward_operations =
    2.0 * pipelined_units * (pipelined_inputs + 3.0 * pipelined_units);
inline constexpr double pipelined_training_operations =
    3.0 * pipelined_forward_operations - 2.0 * pipelined_inputs * pipelined_units;

/// Micro-batches that are there already: feeding copies them.
class prepared_batches {
 public:
  static constexpr int count = 16;

  prepared_batches() : x_(floats * count), labels_(pipelined_batch * count) {
    std::mt19937 generator(7);
    std::uniform_real_distribution<float> uniform(0.0F, 1.0F);
    for (std::size_t sample = 0; sample < labels_.size(); ++sample) {
      int const label = static_cast<int>(generator() % pipelined_units);
      labels_[sample] = label;
      for (int i = 0; i < pipelined_inputs; ++i)
        x_[sample * pipelined_inputs + static_cast<std::size_t>(i)] =
            uniform(generator) * (i % pipelined_units == label ? 1.0F : 0.25F);
    }
  }

  /// Labels wander from batch to batch: what could be learnt by heart would let gradients shrink to denormal numbers.
  void feed(auto& to, int batch) const {
    auto const from = static_cast<std::size_t>(batch % count), labels = static_cast<std::size_t>((batch + 1) % count);
    std::copy_n(x_.data() + from * floats, floats, to.input(0));
    std::copy_n(labels_.data() + labels * pipelined_batch, pipelined_batch, to.template target<0>());
    std::fill_n(to.scale(0), pipelined_batch, 1.0F / pipelined_batch);
    to.set_valid_samples(pipelined_batch);
  }

 private:
  static constexpr std::size_t floats = static_cast<std::size_t>(pipelined_batch) * pipelined_inputs;

  std::vector<float> x_;
  std::vector<std::int32_t> labels_;
};

/// A session's executions, one micro-batch after the other from the prepared ones.
template <class M, auto Training, class Machine>
class pipelined_steps {
 public:
  using session = engine::session_of<M, Training, Machine>;
  static constexpr int samples_of_execution = pipelined_accumulation * pipelined_batch * session::replicas;

  explicit pipelined_steps(prepared_batches const& batches) : batches_(batches) {}

  /// One weight update. Gives the mean loss before it.
  float train() {
    std::array<float, session::replicas> losses{};
    session_.train(pipelined_accumulation, feed(),
                   [&](auto const& view) { losses[static_cast<std::size_t>(view.replica())] += view.total_loss(); });
    float sum = 0;
    for (float const loss : losses) sum += loss;
    return sum / (pipelined_accumulation * session::replicas);
  }
  /// As many predictions; gives the sum of the first logits.
  float predict() {
    std::array<float, session::replicas> logits{};
    session_.predict(pipelined_accumulation, feed(), [&](auto const& view) {
      logits[static_cast<std::size_t>(view.replica())] += view.prediction(0)[0];
    });
    float sum = 0;
    for (float const logit : logits) sum += logit;
    return sum;
  }

 private:
  auto feed() const {
    return [&batches = batches_](auto& to, int replica, int step) {
      batches.feed(to, step * session::replicas + replica);
    };
  }

  prepared_batches const& batches_;
  session session_;
};

}  // namespace stagecraft::benchmarks
