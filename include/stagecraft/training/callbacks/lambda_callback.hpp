// SPDX-License-Identifier: BSD-3-Clause
// A callback made of functions.
// Keras counterpart: tf.keras.callbacks.LambdaCallback.
#pragma once

#include <stagecraft/training/callbacks/callback.hpp>

#include <functional>
#include <utility>

namespace stagecraft::callbacks {

/// One function per hook; those that are left out do nothing.
struct lambda_callback_options {
  using numbered = std::function<void(int, logs&)>;  ///< epoch or batch, logs
  using plain = std::function<void(logs&)>;

  /// Called before and after each epoch, with its number, from 0, and the logs.
  numbered on_epoch_begin{}, on_epoch_end{};
  /// Called before and after each batch of `fit`, with its number, from 0, and the logs.
  numbered on_train_batch_begin{}, on_train_batch_end{};
  numbered on_batch_begin{}, on_batch_end{};  ///< Keras 2's names of these two; if both are given, both are called
  /// Called before the first epoch and after the last one.
  plain on_train_begin{}, on_train_end{};
  /// Called before and after each evaluation or validation.
  plain on_test_begin{}, on_test_end{};
  /// Called before and after each batch of an evaluation or validation.
  numbered on_test_batch_begin{}, on_test_batch_end{};
  /// Called before and after each prediction.
  plain on_predict_begin{}, on_predict_end{};
  /// Called before and after each batch of a prediction.
  numbered on_predict_batch_begin{}, on_predict_batch_end{};
};

/// `lambda_callback print({.on_epoch_end = [](int epoch, logs& values) { ... }});`
class lambda_callback : public callback {
 public:
  explicit lambda_callback(lambda_callback_options functions) : functions_(std::move(functions)) {}

  void on_train_begin(logs& values) override { call(functions_.on_train_begin, values); }
  void on_train_end(logs& values) override { call(functions_.on_train_end, values); }
  void on_test_begin(logs& values) override { call(functions_.on_test_begin, values); }
  void on_test_end(logs& values) override { call(functions_.on_test_end, values); }
  void on_predict_begin(logs& values) override { call(functions_.on_predict_begin, values); }
  void on_predict_end(logs& values) override { call(functions_.on_predict_end, values); }
  void on_epoch_begin(int epoch, logs& values) override { call(functions_.on_epoch_begin, epoch, values); }
  void on_epoch_end(int epoch, logs& values) override { call(functions_.on_epoch_end, epoch, values); }
  void on_train_batch_begin(int batch, logs& values) override {
    call(functions_.on_train_batch_begin, batch, values);
    callback::on_train_batch_begin(batch, values);
  }
  void on_train_batch_end(int batch, logs& values) override {
    call(functions_.on_train_batch_end, batch, values);
    callback::on_train_batch_end(batch, values);
  }
  void on_batch_begin(int batch, logs& values) override { call(functions_.on_batch_begin, batch, values); }
  void on_batch_end(int batch, logs& values) override { call(functions_.on_batch_end, batch, values); }
  void on_test_batch_begin(int batch, logs& values) override { call(functions_.on_test_batch_begin, batch, values); }
  void on_test_batch_end(int batch, logs& values) override { call(functions_.on_test_batch_end, batch, values); }
  void on_predict_batch_begin(int batch, logs& values) override {
    call(functions_.on_predict_batch_begin, batch, values);
  }
  void on_predict_batch_end(int batch, logs& values) override { call(functions_.on_predict_batch_end, batch, values); }

 private:
  template <class Function, class... Arguments>
  static void call(Function const& function, Arguments&&... arguments) {
    if (function) function(arguments...);
  }

  lambda_callback_options functions_;
};

}  // namespace stagecraft::callbacks
