// SPDX-License-Identifier: BSD-3-Clause
// Reads solution files of pipelines, by the compiler or at run time.
#pragma once

#include <stagecraft/diagnostics/diagnostic.hpp>
#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/growing_array.hpp>
#include <cstddef>
#include <string_view>

namespace stagecraft::pipeline {

/// An entry of a solution file: a layer's name, or that of one of its calls, and its stage.
struct solution_entry {
  std::string_view name;
  int stage = 0;
};

/// What is in a solution file, the JSON with which Graphcore's ipu_saved_model_cli describes a pipeline:
///
///     {"device_mapping": [0, 1], "pipeline_mapping": {"dense": 0, "dense_1": 1}}
///
/// The device mapping may be missing: then stage i is on device i. `device_maping`, as the guide has it once, is the
/// same. Names are shown as they stand in the text, which outlives this. Comments may stand where spaces may.
///
/// `problem`: E3040 it is no JSON; E3041 it is something else than such an object.
class solution_reader {
 public:
  constexpr explicit solution_reader(std::string_view text) : text_(text) {
    read_object();
    if (!problem.failed() && !has_mapping)
      problem.report(3041, "the solution file has no object 'pipeline_mapping', with the stage of each layer");
  }

  growing_array<solution_entry> mapping;  ///< in the file's order
  growing_array<int> devices;
  bool has_mapping = false, has_devices = false;
  /// What is wrong with it.
  diagnostic problem;

 private:
  /// E3040, with the place.
  constexpr void expect(char const* what) {
    int line = 1, column = 1;
    for (std::size_t i = 0; i < at_ && i < text_.size(); ++i) {
      ++column;
      if (text_[i] == '\n') ++line, column = 1;
    }
    problem.report(3040, "the solution file is no JSON: ", what, " is expected in line ", line, ", character ", column);
  }

  constexpr void skip_spaces() {
    for (; at_ < text_.size(); ++at_) {
      char const c = text_[at_];
      if (c == ' ' || c == '\n' || c == '\t' || c == '\r') continue;
      if (c != '/') return;
      auto const rest = text_.substr(at_);
      bool const is_line = rest.starts_with("//");
      if (!is_line && !rest.starts_with("/*")) return;
      auto const end = is_line ? rest.find('\n') : rest.find("*/", 2);
      if (end == std::string_view::npos && !is_line) return;  // an open comment: what is expected does not stand here
      at_ += end == std::string_view::npos ? rest.size() - 1 : end + (is_line ? 0 : 1);
    }
  }
  /// Whether a character comes, which is taken.
  constexpr bool takes(char c) {
    skip_spaces();
    return at_ < text_.size() && text_[at_] == c && (++at_, true);
  }

  /// The text between quotes.
  constexpr std::string_view read_text() {
    if (!takes('"')) return expect("a name in quotes"), std::string_view();
    std::size_t const begin = at_;
    while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\\' && text_[at_] != '\n') ++at_;
    if (at_ >= text_.size() || text_[at_] != '"')
      return expect("the '\"' of a name without escapes"), std::string_view();
    return text_.substr(begin, at_++ - begin);
  }
  /// A whole number. E3041 it is something else, or far too large.
  constexpr int read_number(char const* of, std::string_view name) {
    skip_spaces();
    std::size_t const begin = at_;
    bool const is_negative = at_ < text_.size() && text_[at_] == '-';
    if (is_negative) ++at_;
    std::size_t const first = at_;
    int number = 0;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_)
      if (number < 100'000'000) number = number * 10 + (text_[at_] - '0');
    bool const ends = at_ >= text_.size() || std::string_view(" \n\t\r,]}/").find(text_[at_]) != std::string_view::npos;
    if (at_ == first || !ends || number > 1'000'000) {
      while (at_ < text_.size() && at_ < begin + 20 &&
             std::string_view("\n,]}").find(text_[at_]) == std::string_view::npos)
        ++at_;
      problem.report(3041, "the solution file has '", text_.substr(begin, at_ - begin), "' as ", of, name.substr(0, 80),
                     name.empty() ? "" : "'", "; it is a whole number");
    }
    return is_negative ? -number : number;
  }

  constexpr void read_object() {
    if (!takes('{')) return expect("'{'");
    if (!takes('}')) {
      do {
        read_member();
        if (problem.failed()) return;
      } while (takes(','));
      if (!takes('}')) return expect("',' or '}'");
    }
    skip_spaces();
    if (at_ < text_.size()) expect("its end");
  }

  constexpr void read_member() {
    auto const key = read_text();
    if (problem.failed()) return;
    if (!takes(':')) return expect("':'");
    bool const is_mapping = key == "pipeline_mapping", is_devices = key == "device_mapping" || key == "device_maping";
    if (!is_mapping && !is_devices)
      return problem.report(3041, "the solution file has a key '", key.substr(0, 80),
                            "'; there are 'pipeline_mapping' and 'device_mapping'");
    if (is_mapping ? has_mapping : has_devices)
      return problem.report(3041, "the solution file has the key '", key, "' twice");
    if (is_mapping) {
      has_mapping = true;
      read_mapping();
    } else {
      has_devices = true;
      read_devices();
    }
  }

  constexpr void read_mapping() {
    if (!takes('{')) return expect("'{', the stages of layers by their names,");
    if (takes('}')) return;
    do {
      auto const name = read_text();
      if (problem.failed()) return;
      if (!takes(':')) return expect("':'");
      mapping.push_back({name, read_number("the stage of layer '", name)});
      if (problem.failed()) return;
    } while (takes(','));
    if (!takes('}')) expect("',' or '}'");
  }

  constexpr void read_devices() {
    if (!takes('[')) return expect("'[', the device of each stage,");
    if (takes(']')) return;
    do {
      devices.push_back(read_number("a device", {}));
      if (problem.failed()) return;
    } while (takes(','));
    if (!takes(']')) expect("',' or ']'");
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace stagecraft::pipeline
