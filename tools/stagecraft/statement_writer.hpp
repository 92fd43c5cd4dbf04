// SPDX-License-Identifier: BSD-3-Clause
// Steps of a model, or of a function in it, as statements.
#pragma once

#include "source_steps.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace stagecraft::tool {

/// Wraps a line at 120 columns, at commas or in front of operators, with what follows indented by four.
[[nodiscard]] std::string wrap(std::string const& line);
/// Wraps a list in <>, {} or (): as many entries in a line as fit, aligned behind `begin`.
[[nodiscard]] std::string wrap_list(std::string const& begin, std::vector<std::string> const& entries,
                                    std::string const& end);
[[nodiscard]] std::string string_literal(std::string const& text);
/// A text of several lines as it is, R"json(...)json", whatever stands in it.
[[nodiscard]] std::string raw_string_literal(std::string const& text);

/// Writes one body: that of a `build`, or of a function.
class statement_writer {
 public:
  /// `types`: what nested models are called in C++.
  statement_writer(source_model const& model, source_plan const& plan, std::map<int, std::string> const& types,
                   std::string indent)
      : model_(model), plan_(plan), types_(types), indent_(std::move(indent)) {}

  /// The whole of a function.
  [[nodiscard]] static std::string function_text(source_model const& model, source_plan const& plan,
                                                 source_function const& function);
  /// The body of `build`, behind its inputs.
  void write_build(std::string& to);

 private:
  static constexpr std::size_t never = ~std::size_t{0};

  void bind(int value, std::string const& name) {
    names_[value] = name;
    note_use(value, name);
  }
  void note_use(int value, std::string const& name) {
    if (auto const use = last_use_.find(value); use != last_use_.end())
      used_until_[name] = std::max(used_until_[name], use->second);
  }
  /// The variable that a step's result gets, and whether it is a new one.
  std::string target(source_step const& step, std::size_t index, std::vector<source_step> const& steps, bool& is_new);
  std::string arguments(source_step const& step) const;
  std::string layer_text(source_step const& step, std::vector<expression> const& cells,
                         std::vector<bool> const& defaults) const;
  std::string name_text(source_step const& step, std::vector<expression> const& cells) const;
  std::string call_text(source_step const& step, std::vector<expression> const& cells,
                        std::vector<bool> const& defaults, std::string& to);
  void find_last_uses(std::vector<source_step> const& steps, std::vector<int> const& results);
  std::size_t write_loop(std::vector<source_step> const& steps, std::size_t begin, std::string& to);
  void write_steps(std::vector<source_step> const& steps, source_function const* function, std::string& to);
  void find_name_prefix(source_function const& function, std::string& to);

  source_model const& model_;
  source_plan const& plan_;
  std::map<int, std::string> const& types_;
  std::string indent_;
  std::map<int, std::string> names_;               // of values
  std::map<int, std::size_t> last_use_;            // of values: the step
  std::map<std::string, std::size_t> used_until_;  // of variables: the last step that uses a value of that name
  int first_numbered_ = 1;                         // of t1, t2 ...: where the search for a free one begins
  std::size_t numbered_free_at_ = never;           // the first step at which one before that is free
  std::set<std::string> declared_, kept_;          // variables, and those that stay as they are
  std::map<int, std::string> shared_;              // of layers and models that are called again
  std::vector<std::string> prefix_;                // what names in a function begin with
};

}  // namespace stagecraft::tool
