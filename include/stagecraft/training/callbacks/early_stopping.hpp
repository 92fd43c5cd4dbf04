// SPDX-License-Identifier: BSD-3-Clause
// Ends training when a metric has stopped improving.
// Keras counterpart: tf.keras.callbacks.EarlyStopping.
#pragma once

#include <stagecraft/diagnostics/number_text.hpp>
#include <stagecraft/diagnostics/throw_error.hpp>
#include <stagecraft/training/callbacks/monitor.hpp>
#include <stagecraft/training/callbacks/option_callback.hpp>
#include <stagecraft/training/callbacks/text_output.hpp>

#include <cstdio>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stagecraft::callbacks {

/// Options of early_stopping; names and defaults are Keras's.
struct early_stopping_options {
  /// The value of the logs that is watched, such as "val_loss" or "accuracy".
  std::string monitor = "val_loss";
  double min_delta = 0;  ///< a change must exceed it to count as an improvement
  int patience = 0;      ///< epochs without improvement after which training stops
  int verbose = 0;       ///< 1: prints when training stops
  /// The direction in which values improve; automatic: by the name of the value.
  monitor_mode mode = monitor_mode::automatic;
  double baseline = std::numeric_limits<double>::quiet_NaN();  ///< value that has to be beaten; NaN: none
  bool restore_best_weights = false;  ///< true: the weights of the best epoch are restored when training stops
  /// The destination of messages; standard output by default.
  trainers::text_output output{};

  /// The names above, in the order that C++ demands: E4141 says it.
  static constexpr std::string_view order =
      "monitor, min_delta, patience, verbose, mode, baseline, restore_best_weights, output";
};

/// Counts the epochs in which the monitored value did not improve, and stops training at `patience` of them.
///
/// It follows Keras 2.6, except for a defect that later releases of Keras mended: there, `patience = 0` stopped
/// training after the first epoch even if that was an improvement. Throws data_error E4012 when `monitor` is not among
/// the logs, E4110 for a min_delta that is not finite.
class early_stopping : public trainers::option_callback<early_stopping_options> {
 public:
  using trainers::option_callback<early_stopping_options>::option_callback;  // E4141
#ifndef __clang__
  template <class Error = trainers::refusal_of<trainers::wrong_callback_options<early_stopping_options>::problem>>
  explicit early_stopping(trainers::any_options) = delete;
#endif
  explicit early_stopping(early_stopping_options options = {}) : options_(std::move(options)) {
    std::string_view const monitor = options_.monitor;
    larger_is_better_ = options_.mode == monitor_mode::max ||
                        (options_.mode == monitor_mode::automatic &&
                         (monitor.ends_with("acc") || monitor.ends_with("accuracy") || monitor.ends_with("auc")));
    if (!(options_.min_delta - options_.min_delta == 0))
      stagecraft::detail::throw_data_error("E4110", "early_stopping: expected a finite min_delta, found %s",
                                           diagnostics::general_digits(options_.min_delta, 15).c_str());
    if (options_.min_delta < 0) options_.min_delta = -options_.min_delta;
  }

  void on_train_begin(logs&) override {
    wait_ = 0;
    stopped_epoch_ = -1;
    best_epoch_ = 0;
    auto const infinity = std::numeric_limits<double>::infinity();
    best_ = larger_is_better_ ? -infinity : infinity;
    best_weights_.clear();
  }

  void on_epoch_end(int epoch, logs& values) override {
    double const* const current = detail::find_monitored("early_stopping", options_.monitor, values, params());
    if (current == nullptr) return;
    // The first epoch's weights are restored if no epoch improves.
    if (options_.restore_best_weights && best_weights_.empty()) best_weights_ = model().get_weights();
    ++wait_;
    if (is_improvement(*current, best_)) {
      best_ = *current;
      best_epoch_ = epoch;
      if (options_.restore_best_weights) best_weights_ = model().get_weights();
      if (options_.baseline != options_.baseline || is_improvement(*current, options_.baseline)) wait_ = 0;
    }
    if (wait_ == 0 || wait_ < options_.patience) return;
    stopped_epoch_ = epoch;
    model().stop_training = true;
    if (!options_.restore_best_weights) return;
    if (options_.verbose > 0) options_.output("Restoring model weights from the end of the best epoch.\n");
    model().set_weights(best_weights_);
  }

  void on_train_end(logs&) override {
    if (stopped_epoch_ <= 0 || options_.verbose == 0) return;  // Keras prints nothing for the first epoch
    char text[48];
    std::snprintf(text, sizeof(text), "Epoch %05d: early stopping\n", stopped_epoch_ + 1);
    options_.output(text);
  }

  /// The epoch, from 0, after which training was stopped, or -1.
  [[nodiscard]] int stopped_epoch() const noexcept { return stopped_epoch_; }
  /// The epoch, from 0, with the best value.
  [[nodiscard]] int best_epoch() const noexcept { return best_epoch_; }
  [[nodiscard]] double best() const noexcept { return best_; }

 private:
  [[nodiscard]] bool is_improvement(double value, double reference) const noexcept {
    return larger_is_better_ ? value - options_.min_delta > reference : value + options_.min_delta < reference;
  }

  early_stopping_options options_;
  bool larger_is_better_ = false;
  int wait_ = 0;
  int stopped_epoch_ = -1;
  int best_epoch_ = 0;
  double best_ = 0;
  std::vector<weight_array> best_weights_;
};

}  // namespace stagecraft::callbacks
