// SPDX-License-Identifier: BSD-3-Clause
// Ends training when the loss is NaN or infinite. Keras counterpart: tf.keras.callbacks.TerminateOnNaN.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>
#include <stagecraft/training/callbacks/callback.hpp>
#include <stagecraft/training/callbacks/text_output.hpp>

#include <cstdio>

namespace stagecraft::callbacks {

/// Stops training after a batch whose "loss" is NaN or infinite, and prints a message.
class terminate_on_nan : public callback {
 public:
  explicit terminate_on_nan(trainers::text_output output = {}) : output_(output) {}

  void on_batch_end(int batch, logs& values) override {
    double const* const loss = values.find("loss");
    if (loss == nullptr || *loss - *loss == 0) return;
    char text[64];
    std::snprintf(text, sizeof(text), "Batch %d: Invalid loss, terminating training\n", batch);
    output_(text);
    model().stop_training = true;
  }

 private:
  trainers::text_output output_;
};

}  // namespace stagecraft::callbacks
