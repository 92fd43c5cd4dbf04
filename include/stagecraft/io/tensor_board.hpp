// SPDX-License-Identifier: BSD-3-Clause
// Writes losses, metrics and weights over the epochs, for TensorBoard. Keras counterpart:
// tf.keras.callbacks.TensorBoard.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/io/detail/event_writer.hpp>
#include <stagecraft/training/callbacks/monitor.hpp>
#include <stagecraft/training/callbacks/option_callback.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace stagecraft::callbacks {

/// Options of tensor_board; names and defaults are Keras's, except that the path has no default.
struct tensor_board_options {
  /// Epochs between two histograms of all weights; 0: none.
  int histogram_freq = 0;
  /// Batches, counted over all epochs, between two lines of "batch_loss" and so on; 0: none, Keras's "epoch"; 1:
  /// Keras's "batch". With steps_per_execution, each execution in which such a batch ends has a line.
  int update_freq = 0;

  /// The names above, in the order that C++ demands: E4141 says it.
  static constexpr std::string_view order = "histogram_freq, update_freq";
};

/// Writes files of events to `log_dir`/train and, with a validation, `log_dir`/validation: "epoch_loss" and the other
/// logs of each epoch, histograms of the weights under their names. `tensorboard --logdir log_dir` shows them. Each
/// training writes new files. Unlike in Keras, no graph is drawn, and `evaluate` writes nothing.
///
/// Throws file_error E5040 when a file cannot be written. Each histogram costs a copy of all weights.
class tensor_board : public trainers::option_callback<tensor_board_options> {
 public:
  using trainers::option_callback<tensor_board_options>::option_callback;  // E4141
  explicit tensor_board(std::string log_dir, tensor_board_options options = {})
      : log_dir_(std::move(log_dir)), options_(options) {}

  void on_train_begin(logs&) override {
    train_.reset();
    validation_.reset();
  }
  void on_epoch_begin(int /*epoch*/, logs&) override { seen_.begin_epoch(); }
  void on_train_batch_end(int batch, logs& values) override {
    auto const added = std::max(seen_.add(batch), 1);
    auto const number = seen_.total() - 1;
    if (options_.update_freq < 1 || number % options_.update_freq >= added) return;
    for (auto const& each : values) write(train_, "train", "batch_" + each.name, each.value, number);
  }
  void on_epoch_end(int epoch, logs& values) override {
    constexpr std::string_view prefix = "val_";
    for (auto const& [name, value] : values)
      if (name.starts_with(prefix))
        write(validation_, "validation", "epoch_" + name.substr(prefix.size()), value, epoch);
      else
        write(train_, "train", "epoch_" + name, value, epoch);
    if (options_.histogram_freq < 1 || epoch % options_.histogram_freq != 0) return;
    for (auto const& weight : model().get_weights()) {
      std::string name = weight.name;
      std::replace(name.begin(), name.end(), ':', '_');
      writer(train_, "train").histogram(name, weight.values, epoch, now());
    }
  }
  void on_train_end(logs& values) override { on_train_begin(values); }

 private:
  using file = std::unique_ptr<io::event_writer>;

  static double now() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  }
  io::event_writer& writer(file& to, std::string const& part) {
    if (to) return *to;
    auto const folder = log_dir_ + "/" + part;
    std::error_code problem;
    std::filesystem::create_directories(folder, problem);
    if (problem) throw file_error("E5040", "tensor_board: cannot make folder '" + folder + "': " + problem.message());
    char host[256] = "";
    ::gethostname(host, sizeof host - 1);
    auto const time = now();
    to = std::make_unique<io::event_writer>(folder + "/events.out.tfevents." +
                                                std::to_string(static_cast<std::int64_t>(time)) + "." + host + "." +
                                                std::to_string(::getpid()) + "." + std::to_string(files_++) + ".v2",
                                            time);
    return *to;
  }
  void write(file& to, std::string const& part, std::string const& tag, double value, std::int64_t step) {
    writer(to, part).scalar(tag, static_cast<float>(value), step, now());
  }

  std::string log_dir_;
  tensor_board_options options_;
  file train_, validation_;
  trainers::seen_batches seen_;
  int files_ = 0;
};

}  // namespace stagecraft::callbacks

#include <stagecraft/diagnostics/end_headers.hpp>
