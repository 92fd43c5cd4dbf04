// SPDX-License-Identifier: BSD-3-Clause
// The functions that a callback may override, one for each point of training, evaluation and prediction. Keras
// counterpart: tf.keras.callbacks.Callback, ModeKeys.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/training/callbacks/logs.hpp>
#include <stagecraft/training/callbacks/trainable.hpp>

namespace stagecraft::trainers {

/// Steps of `fit`, of `evaluate` (and of validation), or of `predict`.
enum class run_kind : unsigned char { training, evaluation, prediction };

}  // namespace stagecraft::trainers

namespace stagecraft {

/// Facts of a run that callbacks receive before it begins (Keras: the `params` dictionary).
struct callback_params {
  int verbose = 0;          ///< the run's option `verbose`: 0 nothing is printed, 1 a bar, 2 a line
  int epochs = 1;           ///< the number of the epoch at which `fit` ends
  int steps = 0;            ///< batches per epoch; 0 when not known
  bool validation = false;  ///< true: epochs end with a validation (not necessarily every one)
};

/// Base of all callbacks. Override the hooks you need; the others do nothing. Numbers of epochs and batches start at 0.
/// `logs` can be changed: values that a callback adds at the end of an epoch reach the callbacks after it, the history
/// and the progress bar.
class callback {
 public:
  virtual ~callback() = default;

  /// Called before all other hooks of a run.
  virtual void set_params(callback_params const& params) { params_ = params; }
  virtual void set_model(trainers::trainable& model) { model_ = &model; }

  /// Called at the start and at the end of `fit`. At the end, logs are those of the last epoch.
  virtual void on_train_begin(logs&) {}
  virtual void on_train_end(logs&) {}

  /// Called at the start of an epoch, and at its end, with the means of the training metrics over the epoch, and those
  /// of the validation with the prefix `val_` when there was one.
  virtual void on_epoch_begin(int /*epoch*/, logs&) {}
  virtual void on_epoch_end(int /*epoch*/, logs&) {}

  /// Called before and after each batch of `fit`, or once per execution when steps_per_execution is larger than 1.
  /// After a batch, logs hold the means of the metrics from the start of the epoch on.
  virtual void on_train_batch_begin(int batch, logs& values) { on_batch_begin(batch, values); }
  virtual void on_train_batch_end(int batch, logs& values) { on_batch_end(batch, values); }

  /// Older names of the two hooks above, for callbacks that override these.
  virtual void on_batch_begin(int /*batch*/, logs&) {}
  virtual void on_batch_end(int /*batch*/, logs&) {}

  /// Called at the start and at the end of `evaluate`, and of the validation in `fit`.
  virtual void on_test_begin(logs&) {}
  virtual void on_test_end(logs&) {}

  /// Called before and after each batch of `evaluate`, and of the validation in `fit`.
  virtual void on_test_batch_begin(int /*batch*/, logs&) {}
  virtual void on_test_batch_end(int /*batch*/, logs&) {}

  /// Called at the start and at the end of `predict`. Logs are empty.
  virtual void on_predict_begin(logs&) {}
  virtual void on_predict_end(logs&) {}

  /// Called before and after each batch of `predict`. Logs are empty.
  virtual void on_predict_batch_begin(int /*batch*/, logs&) {}
  virtual void on_predict_batch_end(int /*batch*/, logs&) {}

  /// True for a progress bar, which stands in for the run's own.
  [[nodiscard]] virtual bool is_progress_bar() const noexcept { return false; }

 protected:
  callback() = default;
  callback(callback const&) = default;
  callback& operator=(callback const&) = default;

  [[nodiscard]] callback_params const& params() const noexcept { return params_; }
  /// The model in training; valid in every hook, since `set_model` comes first.
  [[nodiscard]] trainers::trainable& model() const noexcept { return *model_; }

 private:
  callback_params params_;
  trainers::trainable* model_ = nullptr;
};

}  // namespace stagecraft
