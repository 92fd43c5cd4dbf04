// SPDX-License-Identifier: BSD-3-Clause
// A model as steps in the order of its source, and functions for repeated steps.
#pragma once

#include "source/identifier.hpp"
#include "source/source_model.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace stagecraft::tool {

/// A part of a step's text that may differ between repeated steps: a number, or a part of a name.
struct cell {
  enum class kinds : unsigned char { integer, real, text };

  kinds kind = kinds::text;
  std::string text;      ///< a part of a name
  source_text value;     ///< a number
  long long number = 0;  ///< an integer; options and parts of names fit into an int
  std::string role;      ///< base of the parameter's name: "filters"
  bool is_option_default = false;
  bool is_of_name = false;

  [[nodiscard]] bool is_alike(cell const& other) const {
    return kind == other.kind && text == other.text && value == other.value;
  }
};

/// One statement: a call of a layer, of a nested model, or of a function.
struct source_step {
  int layer = -1;     ///< index of a layer of the model, or
  int function = -1;  ///< index of a function that was found
  std::vector<int> inputs;
  std::vector<int> outputs;
  std::vector<cell> cells;
  std::string pattern;    ///< the text that steps have in common if they differ only in their cells
  bool has_name = false;  ///< true: the layer's name is written
  int name_cells = 0;     ///< number of cells, the last ones, that are parts of the name
  /// The parts of the name; nullopt stands for the next cell.
  std::vector<std::optional<std::string>> name_parts;
  bool can_repeat = false;  ///< true for all but shared layers and nested models
};

/// A value in a function's body: a constant, or an expression of its parameters.
struct expression {
  source_text code;       ///< C++ of a number, or of an expression of parameters
  std::string text = {};  ///< a constant part of a name
  bool is_constant = true;
};

struct source_parameter {
  cell::kinds kind = cell::kinds::integer;
  bool is_of_name = false;
  identifier name;
};

/// A function for steps that repeat.
struct source_function {
  identifier name{"function"};
  std::vector<source_parameter> parameters;
  std::vector<source_step> body;
  std::vector<std::vector<expression>> expressions;  ///< expressions of each step's cells
  std::vector<std::vector<bool>> is_default;         ///< cells that are an option's default in all steps
  std::vector<int> inputs;                           ///< values that it takes as arguments
  int result = 0;                                    ///< the value that it returns
};

/// The functions and steps of a model's source.
struct source_plan {
  std::vector<source_step> steps;
  std::vector<source_function> functions;  ///< functions, each after those that it calls
  std::vector<int> inputs, outputs;        ///< values
};

/// Counts Keras's default names, as the library does when it traces a model.
class default_names {
 public:
  /// Returns true, and counts the name as used, if the next layer has it by default.
  bool take(std::string const& name, std::string const& base) {
    int& used = counters_[base];
    if (name != base + (used == 0 ? "" : "_" + std::to_string(used))) return false;
    ++used;
    return true;
  }
  /// Counts the name of a layer inside another one.
  void skip(std::string const& base) { ++counters_[base]; }

 private:
  std::map<std::string, int> counters_{{"input", 1}};
};

/// The steps of a model; nested models that are called are visited for their names.
[[nodiscard]] source_plan make_steps(source_model const& model, default_names& names,
                                     std::map<source_model const*, source_plan>& nested);
/// Makes functions of repeated steps.
void find_functions(source_plan& plan, source_model const& model);

}  // namespace stagecraft::tool
