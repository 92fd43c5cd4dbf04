// SPDX-License-Identifier: BSD-3-Clause
// The learning rate in the logs.
// Counterpart: LearningRateLogger of Graphcore's examples.
#pragma once

#include <stagecraft/training/callbacks/callback.hpp>

namespace stagecraft::callbacks {

/// Adds the trainer's learning rate to the logs of batches and epochs, as "lr": of an optimizer with a schedule, the
/// one that it begins with.
class learning_rate_logger : public callback {
 public:
  void on_train_batch_end(int, logs& values) override { log(values); }
  void on_epoch_end(int, logs& values) override { log(values); }

 private:
  void log(logs& values) { values["lr"] = static_cast<double>(model().learning_rate()); }
};

}  // namespace stagecraft::callbacks
