// SPDX-License-Identifier: BSD-3-Clause
// Lowers the learning rate when a metric has stopped improving.
// Keras counterpart: tf.keras.callbacks.ReduceLROnPlateau.
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

namespace stagecraft::callbacks {

/// Options of reduce_lr_on_plateau; names and defaults are Keras's.
struct reduce_lr_on_plateau_options {
  /// The value of the logs that is watched, such as "val_loss" or "accuracy".
  std::string monitor = "val_loss";
  double factor = 0.1;  ///< new rate = rate * factor; below 1
  int patience = 10;    ///< epochs without improvement after which the rate is lowered
  int verbose = 0;      ///< 1: prints each change of the rate
  /// The direction in which values improve; automatic: by the name of the value.
  monitor_mode mode = monitor_mode::automatic;
  double min_delta = 1e-4;  ///< a change must exceed it to count as an improvement
  int cooldown = 0;         ///< epochs after a change in which nothing is counted
  double min_lr = 0;        ///< lower bound of the rate
  /// The destination of messages; standard output by default.
  trainers::text_output output{};

  /// The names above, in the order that C++ demands: E4141 says it.
  static constexpr std::string_view order =
      "monitor, factor, patience, verbose, mode, min_delta, cooldown, min_lr, output";
};

/// Multiplies the learning rate by `factor` after `patience` epochs without improvement of the monitored value. Adds
/// the rate to the logs of each epoch, as "lr". Throws data_error E4015 for a factor of 1 or more, E4110 for other
/// numbers that are negative or not finite, and E4012 when `monitor` is not among the logs.
class reduce_lr_on_plateau : public trainers::option_callback<reduce_lr_on_plateau_options> {
 public:
  using trainers::option_callback<reduce_lr_on_plateau_options>::option_callback;  // E4141
#ifndef __clang__
  template <class Error = trainers::refusal_of<trainers::wrong_callback_options<reduce_lr_on_plateau_options>::problem>>
  explicit reduce_lr_on_plateau(trainers::any_options) = delete;
#endif
  explicit reduce_lr_on_plateau(reduce_lr_on_plateau_options options = {}) : options_(std::move(options)) {
    if (!(options_.factor < 1)) {
      stagecraft::detail::throw_data_error("E4015", "reduce_lr_on_plateau: expected a factor below 1, found %s",
                                           diagnostics::general_digits(options_.factor, 15).c_str());
    }
    for (auto const& [option, value] :
         {std::pair("min_lr", options_.min_lr), std::pair("min_delta", options_.min_delta),
          std::pair("factor", options_.factor)})
      if (!(value >= 0 && value - value == 0))
        stagecraft::detail::throw_data_error("E4110",
                                             "reduce_lr_on_plateau: expected a finite %s of at least 0, found %s",
                                             option, diagnostics::general_digits(value, 15).c_str());
    larger_is_better_ = options_.mode == monitor_mode::max ||
                        (options_.mode == monitor_mode::automatic &&
                         std::string_view(options_.monitor).find("acc") != std::string_view::npos);
    reset();
  }

  void on_train_begin(logs&) override { reset(); }

  void on_epoch_end(int epoch, logs& values) override {
    values["lr"] = static_cast<double>(model().learning_rate());
    double const* const current = detail::find_monitored("reduce_lr_on_plateau", options_.monitor, values, params());
    if (current == nullptr) return;
    if (cooldown_counter_ > 0) {
      --cooldown_counter_;
      wait_ = 0;
    }
    if (larger_is_better_ ? *current > best_ + options_.min_delta : *current < best_ - options_.min_delta) {
      best_ = *current;
      wait_ = 0;
    } else if (cooldown_counter_ == 0 && ++wait_ >= options_.patience) {
      lower(epoch);
    }
  }

 private:
  void reset() noexcept {
    auto const infinity = std::numeric_limits<double>::infinity();
    best_ = larger_is_better_ ? -infinity : infinity;
    cooldown_counter_ = wait_ = 0;
  }

  void lower(int epoch) {
    float const rate = model().learning_rate();
    if (!(rate > static_cast<float>(options_.min_lr))) return;
    double lowered = static_cast<double>(rate) * options_.factor;
    if (lowered < options_.min_lr) lowered = options_.min_lr;
    model().set_learning_rate(static_cast<float>(lowered));
    if (options_.verbose > 0) {
      char text[80];
      std::snprintf(text, sizeof(text), "\nEpoch %05d: ReduceLROnPlateau reducing learning rate to ", epoch + 1);
      options_.output(text + stagecraft::detail::python_repr(lowered) + ".\n");
    }
    cooldown_counter_ = options_.cooldown;
    wait_ = 0;
  }

  reduce_lr_on_plateau_options options_;
  bool larger_is_better_ = false;
  double best_ = 0;
  int cooldown_counter_ = 0;
  int wait_ = 0;
};

}  // namespace stagecraft::callbacks
