// SPDX-License-Identifier: BSD-3-Clause
// Text files as datasets: their lines, and tables of numbers row by row. Keras counterpart: tf.data.TextLineDataset
// and tf.data.experimental.CsvDataset.
#pragma once

#include <stagecraft/data/dataset.hpp>
#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/io/narrowing.hpp>
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace stagecraft::data {

namespace detail {

/// Reads the lines of several files, file after file, and knows where each line stands.
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
  /// The place of the line that was read last: "data.csv:7".
  [[nodiscard]] std::string place() const { return paths_[now_] + ':' + std::to_string(line_); }
  /// The number of the line that was read last, in its file, from 1.
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

/// The lines of files, one file after the other, without their ends (\n or \r\n). The number of lines is unknown until
/// `assert_cardinality` states it. Each pass opens the files anew. Errors: file_error E5001 when a file is to be read.
[[nodiscard]] inline dataset<std::string> text_lines(std::vector<std::string> paths) {
  return {unknown_cardinality,
          [paths = std::move(paths)](std::uint64_t) { return std::make_unique<detail::line_reader>(paths); }};
}
[[nodiscard]] inline dataset<std::string> text_lines(std::string path) {
  return text_lines(std::vector<std::string>{std::move(path)});
}
[[nodiscard]] inline dataset<std::string> text_lines(char const* path) { return text_lines(std::string(path)); }

/// Options of `csv`; names are those of TensorFlow's CsvDataset.
struct csv_options {
  bool header = false;             ///< true: the first line of a file names the columns, and is left out
  char field_delim = ',';          ///< the character between two fields
  std::vector<int> select_cols{};  ///< the columns to read, from 0, in this order; none: all of them
};

namespace detail {

class csv_rows final : public stream<std::vector<float>> {
 public:
  csv_rows(std::vector<std::string> paths, csv_options options)
      : lines_(std::move(paths)), options_(std::move(options)) {}

  std::optional<std::vector<float>> next() override {
    for (;;) {
      auto const line = lines_.next();
      if (!line) return std::nullopt;
      if (line->empty() || (options_.header && lines_.line() == 1)) continue;
      return row(*line);
    }
  }

 private:
  std::vector<float> row(std::string_view line) {
    fields_.clear();
    for (std::size_t first = 0; first <= line.size();) {
      auto const end = std::min(line.find(options_.field_delim, first), line.size());
      fields_.push_back(line.substr(first, end - first));
      first = end + 1;
    }
    if (count_ == 0) count_ = fields_.size();
    if (fields_.size() != count_)
      refuse("E5071", std::to_string(count_) + " fields, as the first row has", std::to_string(fields_.size()));
    std::vector<float> result;
    if (options_.select_cols.empty()) {
      for (std::size_t column = 0; column < count_; ++column) result.push_back(number(column));
    } else {
      for (int const column : options_.select_cols) {
        if (column < 0 || static_cast<std::size_t>(column) >= count_)
          refuse("E5071", "columns from 0 to " + std::to_string(count_ - 1), std::to_string(column));
        result.push_back(number(static_cast<std::size_t>(column)));
      }
    }
    return result;
  }
  float number(std::size_t column) const {
    auto text = fields_[column];
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
    if (text.size() >= 2 && text.front() == '"' && text.back() == '"') text = text.substr(1, text.size() - 2);
    if (text.starts_with('+')) text.remove_prefix(1);
    auto const* const last = text.data() + text.size();
    float value = 0;
    auto const found = io::read_number(text.data(), last, value);
    if (found.ec == std::errc::result_out_of_range && found.ptr == last)
      io::refuse_number(lines_.place() + ": column " + std::to_string(column), std::string(text.substr(0, 80)));
    if (found.ec != std::errc() || found.ptr != last)
      refuse("E5070", "a number in column " + std::to_string(column), '\'' + std::string(text) + '\'');
    return value;
  }
  [[noreturn, gnu::cold]] void refuse(char const* code, std::string const& expected, std::string const& found) const {
    throw file_error(code, lines_.place() + ": expected " + expected + ", found " + found);
  }

  line_reader lines_;
  csv_options options_;
  std::vector<std::string_view> fields_;
  std::size_t count_ = 0;
};

}  // namespace detail

/// The rows of files, each a std::vector of floats; empty lines are left out. Fields may stand in quotes, but hold
/// numbers alone. The number of rows is unknown until `assert_cardinality` states it. `map` makes samples of rows:
///
///     auto const rows = sc::data::csv("iris.csv", {.header = true});
///     auto const train = rows.map([](std::vector<float> const& row) {
///       return std::pair(std::vector<float>(row.begin(), row.end() - 1), row.back());
///     });
///
/// Numbers that are too small for float32 are 0. Errors, when the line is read: file_error E5001, E5070 a field that is
/// no number, E5205 one that is beyond float32, E5071 a row with another number of
/// fields than the first one, or without a selected column.
[[nodiscard]] inline dataset<std::vector<float>> csv(std::vector<std::string> paths, csv_options options = {}) {
  return {unknown_cardinality, [paths = std::move(paths), options = std::move(options)](std::uint64_t) {
            return std::make_unique<detail::csv_rows>(paths, options);
          }};
}
[[nodiscard]] inline dataset<std::vector<float>> csv(std::string path, csv_options options = {}) {
  return csv(std::vector<std::string>{std::move(path)}, std::move(options));
}
[[nodiscard]] inline dataset<std::vector<float>> csv(char const* path, csv_options options = {}) {
  return csv(std::string(path), std::move(options));
}

}  // namespace stagecraft::data
