// SPDX-License-Identifier: BSD-3-Clause
// The lines of text files, which are read one after the other. Keras counterpart: tf.data.TextLineDataset.
#pragma once

#include <stagecraft/data/dataset.hpp>
#include <stagecraft/diagnostics/exceptions.hpp>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft::data {

namespace detail {

/// The lines of one file after another's, and where they stand.
class line_reader final : public stream<std::string> {
 public:
  explicit line_reader(std::vector<std::string> paths) : paths_(std::move(paths)) {}

  std::optional<std::string> next() override {
    for (;;) {
      if (file_.is_open()) {
        std::string line;
        if (std::getline(file_, line)) {
          ++line_;
          if (line.ends_with('\r')) line.pop_back();
          return line;
        }
        if (file_.bad()) refuse();
        file_.close();
        ++now_;
      }
      if (now_ == paths_.size()) return std::nullopt;
      errno = 0;
      file_.open(paths_[now_], std::ios::binary);
      if (!file_ || (file_.peek(), file_.bad())) refuse();  // a folder opens, but cannot be read
      file_.clear();
      line_ = 0;
    }
  }
  /// "data.csv:7", of the line that was read last.
  [[nodiscard]] std::string place() const { return paths_[now_] + ':' + std::to_string(line_); }
  /// Its number in its file, from 1.
  [[nodiscard]] std::int64_t line() const noexcept { return line_; }

 private:
  [[noreturn]] void refuse() const {
    throw file_error("E5001", paths_[now_] + ": expected a readable file, found: " +
                                  (errno != 0 ? std::strerror(errno) : "an error while reading"));
  }

  std::vector<std::string> paths_;
  std::size_t now_ = 0;
  std::ifstream file_;
  std::int64_t line_ = 0;
};

}  // namespace detail

/// The lines of files, one file after the other, without their ends (\n or \r\n). Their number is not known:
/// `assert_cardinality` says it. A pass opens the files anew. Errors: file_error E5001 when a file is to be read.
[[nodiscard]] inline dataset<std::string> text_lines(std::vector<std::string> paths) {
  return {unknown_cardinality,
          [paths = std::move(paths)](std::uint64_t) { return std::make_unique<detail::line_reader>(paths); }};
}
[[nodiscard]] inline dataset<std::string> text_lines(std::string path) {
  return text_lines(std::vector<std::string>{std::move(path)});
}
[[nodiscard]] inline dataset<std::string> text_lines(char const* path) { return text_lines(std::string(path)); }

}  // namespace stagecraft::data
