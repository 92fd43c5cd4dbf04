// SPDX-License-Identifier: BSD-3-Clause
// Writes the logs of each epoch to a file of comma separated values.
// Keras counterpart: tf.keras.callbacks.CSVLogger.
#pragma once

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/training/callbacks/option_callback.hpp>
#include <stagecraft/training/callbacks/text_output.hpp>

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

namespace stagecraft::callbacks {

/// Options of csv_logger; names and defaults are Keras's.
struct csv_logger_options {
  /// The text between two columns.
  std::string separator = ",";
  bool append = false;  ///< true: appends to an existing file, without a second header

  /// The names above, in the order that C++ demands: E4141 says it.
  static constexpr std::string_view order = "separator, append";
};

/// Writes a header `epoch,<names, sorted>` and one line per epoch, as Python's csv module does: numbers in their
/// shortest form, lines ended by "\r\n". As in Keras 2.6, the columns are the names of the first epoch: a validation
/// that does not run in that epoch has no columns, and one that does not run in a later epoch has NA there. Each line
/// is flushed. Throws file_error E5040 when the file cannot be opened or written.
class csv_logger : public trainers::option_callback<csv_logger_options> {
 public:
  using trainers::option_callback<csv_logger_options>::option_callback;  // E4141
  explicit csv_logger(std::string filename, csv_logger_options options = {})
      : filename_(std::move(filename)), options_(std::move(options)) {}

  void on_train_begin(logs&) override {
    write_header_ = true;
    if (options_.append) {
      file existing;
      if (existing.open(filename_, "rb")) write_header_ = std::fgetc(existing.opened) == EOF;
    }
    if (!file_.open(filename_, options_.append ? "ab" : "wb"))
      throw file_error("E5040", "csv_logger: cannot open '" + filename_ + "' for writing");
    columns_.clear();
  }

  void on_epoch_end(int epoch, logs& values) override {
    if (columns_.empty()) {
      choose_columns(values);
      if (write_header_) {
        std::string header = "epoch";
        for (std::string const& column : columns_) header += options_.separator + column;
        write(header);
      }
    }
    std::string line = std::to_string(epoch);
    for (std::string const& column : columns_) {
      line += options_.separator;
      double const* const value = values.find(column);
      if (value == nullptr) line += "NA";
      // Keras's values are float32: it writes the learning rate in its shortest form, and converts the others to
      // double.
      else if (column == "lr")
        line += stagecraft::detail::python_repr(static_cast<float>(*value));
      else
        line += stagecraft::detail::python_repr(static_cast<double>(static_cast<float>(*value)));
    }
    write(line);
  }

  void on_train_end(logs&) override { file_.close(); }

 private:
  struct file {
    std::FILE* opened = nullptr;

    file() = default;
    file(file&& other) noexcept : opened(other.opened) { other.opened = nullptr; }
    file& operator=(file&& other) noexcept {
      std::FILE* const own = opened;
      opened = other.opened;
      other.opened = own;
      return *this;
    }
    ~file() { close(); }

    bool open(std::string const& path, char const* mode) {
      close();
      opened = std::fopen(path.c_str(), mode);
      return opened != nullptr;
    }
    void close() noexcept {
      if (opened != nullptr) std::fclose(opened);
      opened = nullptr;
    }
  };

  void choose_columns(logs const& values) {
    for (logs::entry const& e : values) {
      // Sorted by insertion, since there are few.
      std::size_t at = columns_.size();
      while (at > 0 && e.name < columns_[at - 1]) --at;
      columns_.insert(columns_.begin() + at, e.name);
    }
  }

  void write(std::string line) {
    line += "\r\n";
    if (std::fwrite(line.data(), 1, line.size(), file_.opened) != line.size() || std::fflush(file_.opened) != 0)
      throw file_error("E5040", "csv_logger: cannot write to '" + filename_ + "'");
  }

  std::string filename_;
  csv_logger_options options_;
  file file_;
  bool write_header_ = true;
  tracing::growing_array<std::string> columns_;
};

}  // namespace stagecraft::callbacks
