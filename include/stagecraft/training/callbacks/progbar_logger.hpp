// SPDX-License-Identifier: BSD-3-Clause
// Prints Keras's progress bar for `fit`, `evaluate` and `predict`, character by character. Keras counterpart:
// tf.keras.callbacks.ProgbarLogger with count_mode="steps", and tf.keras.utils.Progbar of Keras 2.6.
#pragma once

#include <stagecraft/diagnostics/number_text.hpp>
#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/training/callbacks/callback.hpp>
#include <stagecraft/training/callbacks/text_output.hpp>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#if defined(_WIN32)
#include <io.h>
#else
#include <unistd.h>
#endif

namespace stagecraft {

/// The way that one state of the bar replaces the one before.
enum class display_mode : unsigned char {
  automatic,  ///< `dynamic` when stdout is a terminal or PyCharm's console, else `lines`
  dynamic,    ///< backspaces and a carriage return; Keras does this on every POSIX system, also into files
  lines       ///< a new line each time; Keras does this on other systems, where stdout is not a terminal
};

/// Options of `progress_bar`; names and defaults are Keras's.
struct progress_bar_options {
  int target = 0;          ///< number of expected steps; 0: unknown
  int width = 30;          ///< characters of the bar
  int verbose = 1;         ///< 0 silent, 1 a bar, 2 one line at the end
  double interval = 0.05;  ///< least time between two states of the bar, in seconds
  /// The name of a step, as in "3ms/step".
  std::string_view unit_name = "step";
  /// The way that a state of the bar replaces the one before: redrawn in place, or on a new line.
  display_mode display = display_mode::automatic;
  /// The destination of messages; standard output by default.
  trainers::text_output output{};
  /// The clock; the system's by default.
  trainers::time_source time{};
};

/// Shows the progress of a loop of steps, with an estimate of the remaining time and the current values:
///
///     32/100 [========>.....................] - ETA: 3s - loss: 0.4321 - accuracy: 0.8765
///
/// A stateful value (in Keras, all metrics of a model are stateful) is shown as it is, others as their means over the
/// steps. Memory for texts is kept, so that after the first few updates nothing allocates.
class progress_bar {
 public:
  explicit progress_bar(progress_bar_options const& options = {}) : options_(options) { restart(options.target); }

  /// Starts again from step 0, at the present time. Values, their order and which of them are stateful are forgotten.
  /// \param target number of expected steps; 0: unknown
  [[gnu::cold]] void restart(int target) {
    options_.target = target;
    dynamic_ = options_.display == display_mode::dynamic ||
               (options_.display == display_mode::automatic &&
                (isatty(fileno(stdout)) != 0 || std::getenv("PYCHARM_HOSTED") != nullptr));
    value_count_ = 0;
    total_width_ = 0;
    seen_so_far_ = 0;
    start_ = options_.time();
    last_update_ = 0;
    time_after_first_step_ = -1;
    text_.reserve(512);
  }

  /// Sets the number of steps, if it becomes known on the way.
  void set_target(int target) noexcept { options_.target = target; }
  void set_verbose(int verbose) noexcept { options_.verbose = verbose; }
  [[nodiscard]] int target() const noexcept { return options_.target; }

  /// Sets a value that the next `update` shows as it is (Keras: a stateful metric).
  void show(std::string_view name, double value) {
    shown_value& shown = find_or_append(name);
    shown.sum = value;
    shown.weight = 1;
    shown.pending = false;
  }

  /// Sets a value for the steps that the next `update` reports; the mean over all steps is shown.
  void show_mean(std::string_view name, double value) {
    shown_value& shown = find_or_append(name);
    shown.value = value;
    shown.pending = true;
  }

  /// Reports that `current` steps are done. The last one, `current >= target`, ends the line.
  void update(int current) { update(current, options_.target > 0 && current >= options_.target); }

  /// Reports that `current` steps are done.
  /// \param finalize true: this is the last update
  void update(int current, bool finalize) {
    double const steps = current > seen_so_far_ ? current - seen_so_far_ : 1;
    for (std::size_t i = 0; i < value_count_; ++i) values_[i].take_in(steps);
    seen_so_far_ = current;
    double const now = options_.time();
    if (options_.verbose == 1) {
      if (now - last_update_ < options_.interval && !finalize) return;
      show_bar(current, now, finalize);
    } else if (options_.verbose == 2 && finalize) {
      show_line(current, now);
    }
    last_update_ = now;
  }

  /// Reports `steps` more steps.
  void add(int steps) { update(seen_so_far_ + steps); }

 private:
  struct shown_value {
    std::string name;
    double sum = 0;
    double weight = 0;
    double value = 0;  // value of the coming steps, if pending
    bool pending = false;

    void take_in(double steps) noexcept {
      if (!pending) return;
      sum += value * steps;
      weight += steps;
      pending = false;
    }
  };

  [[gnu::cold, gnu::noinline]] shown_value& find_or_append(std::string_view name) {
    for (std::size_t i = 0; i < value_count_; ++i)
      if (values_[i].name == name) return values_[i];
    if (value_count_ == values_.size()) values_.emplace_back();
    shown_value& added = values_[value_count_];
    added.name.assign(name);  // reuses the memory of the former name
    ++value_count_;
    added.sum = added.weight = 0;
    added.pending = false;
    return added;
  }

  [[gnu::cold, gnu::noinline]] void show_bar(int current, double now, bool finalize) {
    text_.clear();
    std::size_t const previous_width = total_width_;
    if (dynamic_) {
      write(previous_width, '\b');
      text_.push_back('\r');
    } else {
      text_.push_back('\n');
    }
    std::size_t const bar_begin = text_.size();
    int const target = options_.target;
    if (target > 0) {
      append_count(current);
      write(" [");
      int const filled = static_cast<int>(options_.width * (static_cast<double>(current) / target));
      if (filled > 0) {
        write(static_cast<std::size_t>(filled - 1), '=');
        text_.push_back(current < target ? '>' : '=');
      }
      if (options_.width > filled) write(static_cast<std::size_t>(options_.width - filled), '.');
      text_.push_back(']');
    } else {
      append("%7d/Unknown", current);
    }
    double const time_per_unit = estimate_step_duration(current, now);
    if (target <= 0 || finalize) {
      write(" - ");
      append_number(now - start_, "s");
      append_duration(time_per_unit);
    } else {
      append_eta(time_per_unit * (target - current));
    }
    for (std::size_t i = 0; i < value_count_; ++i) append_value(values_[i], true);
    total_width_ = text_.size() - bar_begin;
    if (previous_width > total_width_) write(previous_width - total_width_, ' ');
    if (finalize) text_.push_back('\n');
    show();
  }

  [[gnu::cold, gnu::noinline]] void show_line(int current, double now) {
    text_.clear();
    append_count(current);
    write(" - ");
    append_number(now - start_, "s");
    for (std::size_t i = 0; i < value_count_; ++i) append_value(values_[i], false);
    text_.push_back('\n');
    show();
  }

  /// Appends "  3/100", the count as wide as the target.
  [[gnu::cold, gnu::noinline]] void append_count(int current) {
    int digits = 1;
    for (int rest = options_.target; rest >= 10; rest /= 10) ++digits;
    append("%*d/%d", digits, current, options_.target);
  }

  [[gnu::cold, gnu::noinline]] void append_value(shown_value const& shown, bool by_magnitude) {
    double const mean = shown.sum / (shown.weight > 1 ? shown.weight : 1);
    write(" - ");
    write(shown.name);
    // Keras looks at the magnitude for the bar, but at the value itself for the single line of verbose = 2.
    bool const fixed = mean > 1e-3 || (by_magnitude && mean < -1e-3);
    write(": ");
    write(fixed ? diagnostics::fixed_digits(mean, 4) : diagnostics::scientific_digits(mean, 4));
  }

  [[gnu::cold]] void append_duration(double seconds) {
    write(" ");
    if (seconds >= 1 || seconds == 0)
      append_number(seconds, "s/");
    else if (seconds >= 1e-3)
      append_number(seconds * 1e3, "ms/");
    else
      append_number(seconds * 1e6, "us/");
    write(options_.unit_name);
  }

  [[gnu::cold]] void append_eta(double seconds) {
    auto const whole = static_cast<long long>(seconds);
    if (seconds > 3600)
      append(" - ETA: %lld:%02lld:%02lld", whole / 3600, whole % 3600 / 60, whole % 60);
    else if (seconds > 60)
      append(" - ETA: %lld:%02lld", whole / 60, whole % 60);
    else
      append(" - ETA: %llds", whole);
  }

  /// Estimated seconds of one step; the first step is left out as soon as there are others.
  double estimate_step_duration(int current, double now) {
    if (current == 0) return 0;
    double const seconds = time_after_first_step_ >= 0 && current > 1 ? (now - time_after_first_step_) / (current - 1)
                                                                      : (now - start_) / current;
    if (current == 1) time_after_first_step_ = now;
    return seconds;
  }

  void write(std::string_view text) { text_.append(text.data(), text.data() + text.size()); }
  void write(std::size_t count, char c) { text_.resize(text_.size() + count, c); }
  void show() const { options_.output({text_.data(), text_.size()}); }

  /// Appends a whole number and its unit.
  [[gnu::cold, gnu::noinline]] void append_number(double number, std::string_view unit) {
    write(diagnostics::fixed_digits(number, 0));
    write(unit);
  }

  /// Appends whole numbers alone, since the spelling of others would depend on the locale.
  [[gnu::cold, gnu::noinline, gnu::format(printf, 2, 3)]] void append(char const* format, ...) {
    char buffer[96];
    std::va_list arguments;
    va_start(arguments, format);
    int const length = std::vsnprintf(buffer, sizeof(buffer), format, arguments);
    va_end(arguments);
    if (length <= 0) return;
    auto const written = static_cast<std::size_t>(length);
    write({buffer, written < sizeof(buffer) ? written : sizeof(buffer) - 1});
  }

  progress_bar_options options_;
  bool dynamic_ = false;
  tracing::growing_array<shown_value> values_;
  std::size_t value_count_ = 0;
  std::size_t total_width_ = 0;
  int seen_so_far_ = 0;
  double start_ = 0;
  double last_update_ = 0;
  double time_after_first_step_ = -1;
  tracing::growing_array<char> text_;
};

}  // namespace stagecraft

namespace stagecraft::callbacks {

/// Prints by the run's `verbose`: 0 nothing, 1 a bar, 2 one line per epoch. The validation inside of `fit` is silent;
/// its values are shown at the end of the epoch. Runs add one of these by themselves.
class progbar_logger : public callback {
 public:
  /// \param options output, clock, width and so on; target and verbose are those of the run
  explicit progbar_logger(progress_bar_options const& options = {}) : output_(options.output), bar_(options) {}
  [[nodiscard]] bool is_progress_bar() const noexcept override { return true; }

  void set_params(callback_params const& params) override {
    callback::set_params(params);
    target_ = params.steps;
    in_fit_ = false;  // also after an exception ended the run before
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
