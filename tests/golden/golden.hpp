// SPDX-License-Identifier: BSD-3-Clause
// Reader of the golden files of this folder: reference values that real Keras computed (README.md here says how).
//   auto file = golden::read("losses.txt");
//   file["huber/loss"].values, file["huber/loss"].shape
#pragma once

#include <charconv>
#include <cstddef>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace golden {

struct tensor {
  std::vector<std::size_t> shape;
  std::vector<float> values;  ///< row-major

  [[nodiscard]] std::size_t size() const { return values.size(); }
  [[nodiscard]] float operator[](std::size_t index) const { return values.at(index); }
  /// The only value of a tensor with one element.
  [[nodiscard]] float scalar() const {
    if (values.size() != 1) throw std::runtime_error("golden: not a scalar");
    return values.front();
  }
  /// The values as integers: labels, node numbers.
  [[nodiscard]] std::vector<int> integers() const { return std::vector<int>(values.begin(), values.end()); }
};

/// The tensors of one file, by name and in the order of the file.
class file {
 public:
  explicit file(std::string name) : name_(std::move(name)) {}

  [[nodiscard]] bool contains(std::string const& tensor_name) const { return tensors_.count(tensor_name) != 0; }
  [[nodiscard]] tensor const& operator[](std::string const& tensor_name) const {
    auto const found = tensors_.find(tensor_name);
    if (found == tensors_.end()) throw std::runtime_error("golden: no tensor '" + tensor_name + "' in " + name_);
    return found->second;
  }
  /// Names in the order of the file.
  [[nodiscard]] std::vector<std::string> const& names() const { return names_; }
  /// What follows `prefix` in the names that start with it, in the order of the file: history keys, cases.
  [[nodiscard]] std::vector<std::string> names(std::string_view prefix) const {
    std::vector<std::string> result;
    for (auto const& each : names_)
      if (std::string_view(each).substr(0, prefix.size()) == prefix) result.push_back(each.substr(prefix.size()));
    return result;
  }

  void add(std::string const& tensor_name, tensor value) {
    if (!tensors_.emplace(tensor_name, std::move(value)).second)
      throw std::runtime_error("golden: tensor '" + tensor_name + "' twice in " + name_);
    names_.push_back(tensor_name);
  }

 private:
  std::string name_;
  std::vector<std::string> names_;
  std::map<std::string, tensor> tensors_;
};

/// This folder, with a slash at its end. The build may say where it is (STAGECRAFT_GOLDEN_DIR).
inline std::string folder() {
#ifdef STAGECRAFT_GOLDEN_DIR
  return std::string(STAGECRAFT_GOLDEN_DIR) + "/";
#else
  std::string_view const here = __FILE__;
  auto const slash = here.rfind('/');
  return slash == std::string_view::npos ? std::string() : std::string(here.substr(0, slash + 1));
#endif
}

/// The text of a file, as it is.
inline std::string read_text(std::string const& name) {
  std::ifstream in(folder() + name, std::ios::binary);
  if (!in) throw std::runtime_error("golden: cannot open " + folder() + name);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// The tensors of a file. Throws std::runtime_error with the name of the file if it is not whole.
inline file read(std::string const& name) {
  std::string const text = read_text(name);
  char const* at = text.data();
  char const* const end = at + text.size();
  auto const fail = [&](char const* what) {
    throw std::runtime_error("golden: " + name + ": " + what + " at byte " + std::to_string(at - text.data()));
  };
  auto const skip = [&] {  // blanks and comments
    bool line_start = at == text.data() || at[-1] == '\n';
    while (at != end && (*at == ' ' || *at == '\n' || (line_start && *at == '#'))) {
      if (*at == '#')
        while (at != end && *at != '\n') ++at;
      line_start = at != end && *at == '\n';
      if (at != end) ++at;
    }
  };
  auto const number = [&]<class Number>(Number& value) {
    skip();
    auto const [stop, error] = std::from_chars(at, end, value);
    if (error != std::errc{}) fail("no number");
    at = stop;
    if (at != end && *at != ' ' && *at != '\n') fail("no blank after a number");
  };

  file result(name);
  for (skip(); at != end; skip()) {
    char const* const start = at;
    while (at != end && *at != ' ' && *at != '\n') ++at;
    std::string const tensor_name(start, at);
    tensor value;
    std::size_t rank = 0;
    std::size_t size = 1;
    number(rank);
    value.shape.resize(rank);
    for (auto& extent : value.shape) {
      number(extent);
      size *= extent;
    }
    value.values.resize(size);
    for (auto& each : value.values) number(each);
    result.add(tensor_name, std::move(value));
  }
  return result;
}

}  // namespace golden
