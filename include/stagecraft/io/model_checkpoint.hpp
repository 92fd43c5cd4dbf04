// SPDX-License-Identifier: BSD-3-Clause
// Saves a model during training, under file names with numbers in Python's spelling, such as
// "digits_{epoch:02d}_{val_loss:.2f}". Keras counterpart: tf.keras.callbacks.ModelCheckpoint.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/diagnostics/number_text.hpp>
#include <stagecraft/io/bundle.hpp>
#include <stagecraft/io/detail/byte_source.hpp>
#include <stagecraft/training/callbacks/logs.hpp>
#include <stagecraft/training/callbacks/monitor.hpp>
#include <stagecraft/training/callbacks/option_callback.hpp>
#include <stagecraft/training/callbacks/text_output.hpp>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

namespace stagecraft::io {

/// True for a format of a number, without its kind: "02", "6.3", ".2".
[[nodiscard]] inline bool is_number_format(std::string_view format) {
  std::size_t digits = 0, points = 0;
  for (char const c : format) {
    if (c == '.')
      ++points, digits = 0;
    else if (c < '0' || c > '9' || ++digits > 2)
      return false;
  }
  return points <= 1;
}

/// The text of a number in a format that `is_number_format` accepts, independent of the locale.
[[nodiscard]] inline std::string number_in_format(double value, std::string_view format, char kind) {
  auto const point = format.find('.');
  auto const number = [](std::string_view digits) {
    int result = 0;
    for (char const c : digits) result = 10 * result + (c - '0');
    return result;
  };
  int const digits = point == std::string_view::npos ? 6 : number(format.substr(point + 1));
  std::string text = kind == 'd'   ? std::to_string(static_cast<long long>(value))
                     : kind == 'f' ? std::string(diagnostics::fixed_digits(value, digits))
                     : kind == 'e' ? std::string(diagnostics::scientific_digits(value, digits))
                                   : std::string(diagnostics::general_digits(value, digits));
  auto const width = static_cast<std::size_t>(number(format.substr(0, point)));
  if (text.size() < width) {
    bool const has_zeros = format.starts_with('0') && std::isfinite(value);
    text.insert(has_zeros && text.front() == '-' ? 1 : 0, width - text.size(), has_zeros ? '0' : ' ');
  }
  return text;
}

/// The text of a number in one of Python's formats: "", "d", "02d", ".3f", "e", "g".
[[nodiscard]] inline std::string number_text(double value, std::string format, std::string const& pattern) {
  char const kind = format.empty() ? 'g' : format.back();
  if (!format.empty()) format.pop_back();
  bool const is_integer = kind == 'd';
  if (std::string_view("dfeg").find(kind) == std::string_view::npos || !is_number_format(format) ||
      (is_integer && !(value == std::floor(value) && std::abs(value) < 9e18)))
    refuse("E5034", pattern,
           "'" + format + kind + "' is no format of this number; write for example {epoch:02d} or {val_loss:.2f}");
  return number_in_format(value, format, kind);
}

/// Puts `epoch`, `batch` (from 1 on; 0: there is none) and the values of the logs into a pattern. "{{" is a brace.
/// Throws file_error E5034 for an unknown name or format.
[[nodiscard]] inline std::string path_of_pattern(std::string const& pattern, int epoch, int batch, logs const& values) {
  std::string path;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    char const c = pattern[i];
    bool const is_doubled = (c == '{' || c == '}') && i + 1 < pattern.size() && pattern[i + 1] == c;
    if (c != '{' || is_doubled) {
      path += c;
      i += is_doubled ? 1 : 0;
      continue;
    }
    auto const end = pattern.find('}', i);
    if (end == std::string::npos) refuse("E5034", pattern, "a brace is not closed");
    auto const inside = pattern.substr(i + 1, end - i - 1);
    auto const colon = inside.find(':');
    auto const name = inside.substr(0, colon);
    auto const format = colon == std::string::npos ? std::string() : inside.substr(colon + 1);
    i = end;
    if (name == "epoch" || (name == "batch" && batch > 0))
      path += number_text(name == "epoch" ? epoch : batch, format.empty() ? "d" : format, pattern);
    else if (auto const* const value = values.find(name))
      path += number_text(*value, format, pattern);
    else
      refuse("E5034", pattern,
             "there is no '" + name + "'; there are: epoch, " + (batch > 0 ? "batch, " : "") + values.names());
  }
  return path;
}

}  // namespace stagecraft::io

namespace stagecraft::callbacks {

/// Options of model_checkpoint; names and defaults are Keras's.
struct model_checkpoint_options {
  /// The value of the logs that `save_best_only` watches, such as "val_loss" or "accuracy".
  std::string monitor = "val_loss";
  int verbose = 0;                 ///< 1: prints when it saves
  bool save_best_only = false;     ///< true: the model is saved only when the monitored value is the best so far
  bool save_weights_only = false;  ///< true: saves weights alone, as `save_weights` does; false: bundles
  /// The direction in which values improve; automatic: larger values are better if "acc" is in the name.
  monitor_mode mode = monitor_mode::automatic;
  /// Number of batches after which the model is saved; 0: it is saved after each epoch. With steps_per_execution,
  /// batches are counted after each execution: executions of 4 and save_freq 4 save after 4, 8, 12.
  int save_freq = 0;
  /// The destination of messages; standard output by default.
  trainers::text_output output{};

  /// The names above, in the order that C++ demands: E4141 says it.
  static constexpr std::string_view order =
      "monitor, verbose, save_best_only, save_weights_only, mode, save_freq, output";
};

namespace detail {

/// A function that saves a trainer, given as its base `trainable`.
using save_function = void (*)(trainers::trainable& model, std::string const& path, bool weights_only);
template <class Trainer>
void save_trainer(trainers::trainable& model, std::string const& path, bool weights_only) {
  auto* const trainer = Trainer::from(model);
  if (trainer == nullptr)
    io::refuse("E5035", path, "the callback was made for another trainer than the one that is trained");
  if (weights_only)
    trainer->save_weights(path);
  else
    trainer->save(path);
}

}  // namespace detail

/// Saves the model after each epoch, or after a number of batches:
///
///     sc::callbacks::model_checkpoint saver(model, "digits_{epoch:02d}_{val_loss:.2f}", {.save_best_only = true});
///     model.fit(train.x, train.y, {.epochs = 5, .validation_data = test, .callbacks = {&saver}});
///
/// `model` is the trainer whose `fit` gets the callback: it is the one that is saved. In the name, `epoch` counts from
/// 1; other words are values of the logs, in Python's formats. With steps_per_execution, batches are seen an execution
/// at a time, as in Keras. Throws file_error E5034 for a name with an unknown value, E5035 with another trainer, and
/// the errors of `save` and `save_weights`; data_error E4012 when `monitor` is not among the logs; E4042 for save_freq
/// with asynchronous_callbacks. Definition: Keras 2.6.
class model_checkpoint : public trainers::option_callback<model_checkpoint_options> {
 public:
  using trainers::option_callback<model_checkpoint_options>::option_callback;  // E4141
  template <class Trainer>
  model_checkpoint(Trainer const&, std::string filepath, model_checkpoint_options options = {})
      : save_(&detail::save_trainer<Trainer>), filepath_(std::move(filepath)), options_(std::move(options)) {
    larger_is_better_ = options_.mode == monitor_mode::max ||
                        (options_.mode == monitor_mode::automatic && options_.monitor.find("acc") != std::string::npos);
    auto const infinity = std::numeric_limits<double>::infinity();
    best_ = larger_is_better_ ? -infinity : infinity;
  }

  void on_epoch_begin(int epoch, logs&) override {
    epoch_ = epoch;
    seen_.begin_epoch();
  }
  void on_train_batch_end(int batch, logs& values) override {
    if (options_.save_freq <= 0) return;
    batches_ += seen_.add(batch);
    if (batches_ < options_.save_freq) return;
    batches_ = 0;
    save(epoch_, batch + 1, values);
  }
  void on_epoch_end(int epoch, logs& values) override {
    if (options_.save_freq <= 0) save(epoch, 0, values);
  }

  /// The best value so far.
  [[nodiscard]] double best() const noexcept { return best_; }
  /// The name under which the model was saved last; empty before.
  [[nodiscard]] std::string const& last_path() const noexcept { return last_path_; }

 private:
  void save(int epoch, int batch, logs const& values) {
    auto const path = io::path_of_pattern(filepath_, epoch + 1, batch, values);
    char text[96];
    std::snprintf(text, sizeof text, "\nEpoch %05d: ", epoch + 1);
    std::string message = text;
    if (options_.save_best_only) {
      double const* const current = detail::find_monitored("model_checkpoint", options_.monitor, values, params());
      if (current == nullptr) return;
      bool const improves = larger_is_better_ ? *current > best_ : *current < best_;
      message += options_.monitor + (improves ? " improved from " : " did not improve from ");
      message += diagnostics::fixed_digits(best_, 5);
      if (improves) message.append(" to ").append(diagnostics::fixed_digits(*current, 5));
      if (!improves) return say(message);
      best_ = *current;
      message += ", ";
    }
    say(message + "saving model to " + path);
    save_(model(), path, options_.save_weights_only);
    last_path_ = path;
  }
  void say(std::string const& message) const {
    if (options_.verbose > 0) options_.output(message + "\n");
  }

  detail::save_function save_;
  std::string filepath_;
  model_checkpoint_options options_;
  bool larger_is_better_ = false;
  double best_ = 0;
  int epoch_ = 0;
  trainers::seen_batches seen_;
  int batches_ = 0;  // batches since the model was saved last
  std::string last_path_;
};

}  // namespace stagecraft::callbacks

#include <stagecraft/diagnostics/end_headers.hpp>
