// SPDX-License-Identifier: BSD-3-Clause
// Prints the progress bar of `fit`, `evaluate` and `predict`.
// Keras counterpart: tf.keras.callbacks.ProgbarLogger with count_mode="steps".
#pragma once

#include <stagecraft/training/callbacks/callback.hpp>
#include <stagecraft/training/callbacks/progress_bar.hpp>

#include <cstdio>

namespace stagecraft::callbacks {

/// `verbose` of the run decides: 0 prints nothing, 1 a bar, 2 one line per epoch. The validation inside of `fit` is
/// silent; its values are shown at the end of the epoch. Runs add one of these by themselves.
class progbar_logger : public callback {
 public:
  /// \param options output, clock, width and so on; target and verbose are those of the run
  explicit progbar_logger(progress_bar_options const& options = {}) : output_(options.output), bar_(options) {}
  [[nodiscard]] bool is_progress_bar() const noexcept override { return true; }

  void set_params(callback_params const& params) override {
    callback::set_params(params);
    target_ = params.steps;
    in_fit_ = false;  // even if an exception ended the run before
    bar_.set_verbose(params.verbose);
  }

  void on_train_begin(logs&) override { in_fit_ = true; }
  void on_train_end(logs&) override { in_fit_ = false; }

  [[gnu::cold]] void on_epoch_begin(int epoch, logs&) override {
    restart();
    if (params().verbose == 0 || params().epochs <= 1) return;
    char text[48];
    std::snprintf(text, sizeof(text), "Epoch %d/%d\n", epoch + 1, params().epochs);
    output_(text);
  }
  void on_train_batch_end(int batch, logs& values) override { update(batch, values); }
  void on_epoch_end(int, logs& values) override { finalize(values); }

  void on_test_begin(logs&) override {
    if (!in_fit_) restart();
  }
  void on_test_batch_end(int batch, logs& values) override {
    if (!in_fit_) update(batch, values);
  }
  void on_test_end(logs& values) override {
    if (!in_fit_) finalize(values);
  }

  void on_predict_begin(logs&) override { restart(); }
  void on_predict_batch_end(int batch, logs&) override {
    logs none;
    update(batch, none);
  }
  void on_predict_end(logs&) override {
    logs none;
    finalize(none);
  }

 private:
  void restart() {
    seen_ = 0;
    bar_.restart(target_);
  }

  [[gnu::noinline]] void update(int batch, logs const& values) {
    seen_ = batch + 1;
    if (params().verbose != 1) return;
    for (logs::entry const& e : values) bar_.show(e.name, e.value);
    bar_.update(seen_, false);
  }

  [[gnu::cold]] void finalize(logs const& values) {
    if (params().verbose == 0) return;
    if (bar_.target() == 0) bar_.set_target(seen_);
    for (logs::entry const& e : values) bar_.show(e.name, e.value);
    bar_.update(bar_.target(), true);
  }

  trainers::text_output output_;
  progress_bar bar_;
  int target_ = 0;
  int seen_ = 0;
  bool in_fit_ = false;
};

}  // namespace stagecraft::callbacks
