// SPDX-License-Identifier: BSD-3-Clause
// Several callbacks, called one after the other.
// Keras counterpart: tf.keras.callbacks.CallbackList.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/training/callbacks/callback.hpp>

#include <vector>

namespace stagecraft::trainers {

/// Calls each hook of its callbacks, in the order in which they were added. It does not own them.
class callback_list {
 public:
  callback_list() = default;
  explicit callback_list(std::vector<callback*> const& callbacks)
      : callbacks_(callbacks.data(), callbacks.data() + callbacks.size()), given_(!callbacks.empty()) {}

  void append(callback& added) { callbacks_.push_back(&added); }
  /// Puts the run's progress bar before all others, as in Keras: their output and their changes of the logs at the end
  /// of an epoch come after it.
  void prepend(callback& added) { callbacks_.insert(callbacks_.begin(), &added); }
  [[nodiscard]] bool empty() const noexcept { return callbacks_.empty(); }
  /// True if there are callbacks of the user's own, which may look at the model.
  [[nodiscard]] bool look_at_model() const noexcept { return given_; }

  void set_params(callback_params const& params) {
    for (callback* c : callbacks_) c->set_params(params);
  }
  void set_model(trainable& model) {
    for (callback* c : callbacks_) c->set_model(model);
  }

  void on_train_begin(logs& values) {
    for (callback* c : callbacks_) c->on_train_begin(values);
  }
  void on_train_end(logs& values) {
    for (callback* c : callbacks_) c->on_train_end(values);
  }
  void on_test_begin(logs& values) {
    for (callback* c : callbacks_) c->on_test_begin(values);
  }
  void on_test_end(logs& values) {
    for (callback* c : callbacks_) c->on_test_end(values);
  }
  void on_predict_begin(logs& values) {
    for (callback* c : callbacks_) c->on_predict_begin(values);
  }
  void on_predict_end(logs& values) {
    for (callback* c : callbacks_) c->on_predict_end(values);
  }
  void on_epoch_begin(int epoch, logs& values) {
    for (callback* c : callbacks_) c->on_epoch_begin(epoch, values);
  }
  void on_epoch_end(int epoch, logs& values) {
    for (callback* c : callbacks_) c->on_epoch_end(epoch, values);
  }
  void on_train_batch_begin(int batch, logs& values) {
    for (callback* c : callbacks_) c->on_train_batch_begin(batch, values);
  }
  void on_train_batch_end(int batch, logs& values) {
    for (callback* c : callbacks_) c->on_train_batch_end(batch, values);
  }
  void on_test_batch_begin(int batch, logs& values) {
    for (callback* c : callbacks_) c->on_test_batch_begin(batch, values);
  }
  void on_test_batch_end(int batch, logs& values) {
    for (callback* c : callbacks_) c->on_test_batch_end(batch, values);
  }
  void on_predict_batch_begin(int batch, logs& values) {
    for (callback* c : callbacks_) c->on_predict_batch_begin(batch, values);
  }
  void on_predict_batch_end(int batch, logs& values) {
    for (callback* c : callbacks_) c->on_predict_batch_end(batch, values);
  }

  /// Calls the hook of this kind of run.
  void on_batch_begin(run_kind kind, int batch, logs& values) {
    if (kind == run_kind::training) return on_train_batch_begin(batch, values);
    kind == run_kind::evaluation ? on_test_batch_begin(batch, values) : on_predict_batch_begin(batch, values);
  }
  void on_batch_end(run_kind kind, int batch, logs& values) {
    if (kind == run_kind::training) return on_train_batch_end(batch, values);
    kind == run_kind::evaluation ? on_test_batch_end(batch, values) : on_predict_batch_end(batch, values);
  }

 private:
  tracing::growing_array<callback*> callbacks_;
  bool given_ = false;
};

}  // namespace stagecraft::trainers
