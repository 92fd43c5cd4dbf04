// SPDX-License-Identifier: BSD-3-Clause
// The number of samples per second that a training processes. Counterpart: ThroughputCallback of Graphcore's examples.
#pragma once

#include <stagecraft/training/callbacks/callback.hpp>
#include <chrono>

namespace stagecraft::callbacks {

/// Adds "throughput", in samples per second, to the logs: for batches since the last call of its hooks, for epochs over
/// the whole epoch without its validation.
class throughput_estimator : public callback {
 public:
  /// \param samples_per_step the batch size, times the replicas
  explicit throughput_estimator(int samples_per_step) : samples_per_step_(samples_per_step) {}

  void on_epoch_begin(int, logs&) override { epoch_ = {}; }
  void on_train_batch_begin(int batch, logs&) override {
    first_step_ = batch;
    begin_ = clock::now();
  }
  void on_train_batch_end(int batch, logs& values) override {
    span const run{batch - first_step_ + 1, std::chrono::duration<double>(clock::now() - begin_).count()};
    epoch_.steps += run.steps;
    epoch_.seconds += run.seconds;
    values["throughput"] = of(run);
  }
  void on_epoch_end(int, logs& values) override { values["throughput"] = of(epoch_); }

 private:
  using clock = std::chrono::steady_clock;
  struct span {
    int steps = 0;
    double seconds = 0;
  };

  [[nodiscard]] double of(span const& run) const {
    return run.seconds > 0 ? static_cast<double>(run.steps) * samples_per_step_ / run.seconds : 0;
  }

  int samples_per_step_;
  int first_step_ = 0;
  clock::time_point begin_{};
  span epoch_;
};

}  // namespace stagecraft::callbacks
