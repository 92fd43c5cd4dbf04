// SPDX-License-Identifier: BSD-3-Clause
// A model as steps in the order in which its source makes them, and what repeats in it as functions.
#pragma once

#include "source/identifier.hpp"
#include "source/source_model.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace stagecraft::tool {

/// A part of a step's text that may differ where steps repeat: a number, or a part of a name.
struct cell {
  enum class kinds : unsigned char { integer, real, text };

  kinds kind = kinds::text;
  std::string text;      ///< a part of a name
  source_text value;     ///< a number
  long long number = 0;  ///< an integer, which an int holds: options and parts of names are read so
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
  std::string pattern;    ///< all that steps have in common that are alike but for their cells
  bool has_name = false;  ///< the layer's name is written
  int name_cells = 0;     ///< the last of the cells are parts of the name
  /// The name in parts, of which those that are nullopt are the next of the cells.
  std::vector<std::optional<std::string>> name_parts;
  bool can_repeat = false;  ///< neither a shared layer nor a nested model
};

/// A value in a function's body: a constant, or an expression of its parameters.
struct expression {
  source_text code;       ///< C++ of a number, or of parameters
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
  std::vector<std::vector<bool>> is_default;         ///< cells that are options' defaults wherever they stand
  std::vector<int> inputs;                           ///< values that it takes
  int result = 0;                                    ///< the value that it returns
};

/// All that a model's source is made from.
struct source_plan {
  std::vector<source_step> steps;
  std::vector<source_function> functions;  ///< each after those that it calls
  std::vector<int> inputs, outputs;        ///< values
};

/// The numbers of Keras's default names, as the library gives them while it traces a model.
class default_names {
 public:
  /// True if the next layer gets this name by default; then counts it as used.
  bool take(std::string const& name, std::string const& base) {
    int& used = counters_[base];
    if (name != base + (used == 0 ? "" : "_" + std::to_string(used))) return false;
    ++used;
    return true;
  }
  /// Names that a layer inside another one takes.
  void skip(std::string const& base) { ++counters_[base]; }

 private:
  std::map<std::string, int> counters_{{"input", 1}};
};

/// The steps of a model; nested models that are called are visited for their names.
[[nodiscard]] source_plan make_steps(source_model const& model, default_names& names,
                                     std::map<source_model const*, source_plan>& nested);
/// Makes functions of what repeats.
void find_functions(source_plan& plan, source_model const& model);

}  // namespace stagecraft::tool
