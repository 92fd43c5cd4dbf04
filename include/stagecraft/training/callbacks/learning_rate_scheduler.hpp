// SPDX-License-Identifier: BSD-3-Clause
// Sets the learning rate at the start of each epoch, or writes it to the logs. Keras counterpart:
// tf.keras.callbacks.LearningRateScheduler; LearningRateLogger of Graphcore's examples.
#pragma once

#include <stagecraft/diagnostics/number_text.hpp>
#include <stagecraft/diagnostics/throw_error.hpp>
#include <stagecraft/training/callbacks/callback.hpp>
#include <stagecraft/training/callbacks/option_callback.hpp>
#include <stagecraft/training/callbacks/text_output.hpp>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace stagecraft::callbacks {

struct learning_rate_scheduler_options {
  int verbose = 0;  ///< 1: prints the rate of each epoch
  /// The destination of messages; standard output by default.
  trainers::text_output output{};

  /// The names above, in the order that C++ demands: E4141 says it.
  static constexpr std::string_view order = "verbose, output";
};

/// Sets the learning rate that a function returns for each epoch: `schedule(epoch, rate so far)` or `schedule(epoch)`,
/// epochs from 0. Adds the rate to the logs of each epoch, as "lr". Throws data_error E4014 when the function returns a
/// number that is negative or not finite.
class learning_rate_scheduler : public trainers::option_callback<learning_rate_scheduler_options> {
 public:
  template <class Schedule>
    requires(std::is_invocable_r_v<double, Schedule&, int, double> || std::is_invocable_r_v<double, Schedule&, int>)
  explicit learning_rate_scheduler(Schedule schedule, learning_rate_scheduler_options const& options = {})
      : options_(options) {
    if constexpr (std::is_invocable_r_v<double, Schedule&, int, double>) {
      schedule_ = std::move(schedule);
    } else {
      schedule_ = [schedule = std::move(schedule)](int epoch, double) mutable { return schedule(epoch); };
    }
  }

  using trainers::option_callback<learning_rate_scheduler_options>::option_callback;  // E4141

  [[gnu::cold]] void on_epoch_begin(int epoch, logs&) override {
    double const rate = schedule_(epoch, static_cast<double>(model().learning_rate()));
    if (!(rate >= 0 && rate - rate == 0)) {
      stagecraft::detail::throw_data_error(
          "E4014", "learning_rate_scheduler: expected a finite learning rate of at least 0 for epoch %d, found %s",
          epoch, diagnostics::general_digits(rate, 6).c_str());
    }
    model().set_learning_rate(static_cast<float>(rate));
    if (options_.verbose == 0) return;
    char text[80];
    std::snprintf(text, sizeof(text), "\nEpoch %05d: LearningRateScheduler setting learning rate to ", epoch + 1);
    options_.output(std::string(text).append(stagecraft::detail::python_repr(rate)).append(".\n"));
  }

  void on_epoch_end(int, logs& values) override { values["lr"] = static_cast<double>(model().learning_rate()); }

 private:
  std::function<double(int, double)> schedule_;
  learning_rate_scheduler_options options_;
};

/// Adds the trainer's learning rate to the logs of batches and epochs, as "lr"; for an optimizer with a schedule, the
/// initial rate.
class learning_rate_logger : public callback {
 public:
  void on_train_batch_end(int, logs& values) override { log(values); }
  void on_epoch_end(int, logs& values) override { log(values); }

 private:
  void log(logs& values) { values["lr"] = static_cast<double>(model().learning_rate()); }
};

}  // namespace stagecraft::callbacks
