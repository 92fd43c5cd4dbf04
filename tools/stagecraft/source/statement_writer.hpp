// SPDX-License-Identifier: BSD-3-Clause
// Writes steps of a model, or of a function in it, as statements.
#pragma once

#include "source/source_steps.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <vector>

namespace stagecraft::tool {

/// The suffix of an input whose model has stateful layers: `.of_batch_size(1)`.
[[nodiscard]] source_text batch_size_text(source_model const& model);

/// Writes the body of a `build` or of a function.
class statement_writer {
 public:
  /// `types`: what nested models, and layers that the library does not have, are called in C++.
  statement_writer(source_model const& model, source_plan const& plan, std::map<int, identifier> const& types,
                   std::size_t indent)
      : model_(model), plan_(plan), types_(types), indent_(indent_of(indent)) {}

  /// Returns a function with its head and body.
  [[nodiscard]] static source_text function_text(source_model const& model, source_plan const& plan,
                                                 std::map<int, identifier> const& types,
                                                 source_function const& function);
  /// Writes the body of `build`, which begins with its inputs.
  void write_build(source_text& to);

 private:
  /// A part of a name: a constant in quotes, or an expression of a text or a number.
  struct name_piece {
    source_text code;
    bool is_constant = true, is_text = true;

    friend bool operator==(name_piece const&, name_piece const&) = default;
  };

  static constexpr std::size_t never = ~std::size_t{0};

  void bind(int value, identifier const& name) {
    names_.insert_or_assign(value, name);
    note_use(value, name);
  }
  void note_use(int value, identifier const& name) {
    if (auto const use = last_use_.find(value); use != last_use_.end())
      used_until_[name] = std::max(used_until_[name], use->second);
  }
  /// Declares a new variable that is not assigned again.
  identifier declare(identifier const& wanted);
  /// The variable for a step's result; sets `is_new` to true if it is a new one.
  identifier target(source_step const& step, std::size_t index, bool& is_new);
  source_text arguments(source_step const& step) const;
  source_text layer_text(source_step const& step, std::vector<expression> const& cells,
                         std::vector<bool> const& defaults) const;
  static std::vector<name_piece> name_pieces(source_step const& step, std::vector<expression> const& cells);
  static source_text appended(std::vector<name_piece> const& pieces);
  source_text name_text(source_step const& step, std::vector<expression> const& cells) const;
  source_text call_text(source_step const& step, std::vector<expression> const& cells,
                        std::vector<bool> const& defaults, source_text& to);
  void find_last_uses(std::vector<source_step> const& steps, std::vector<int> const& results);
  std::size_t write_loop(std::vector<source_step> const& steps, std::size_t begin, source_text& to);
  void write_steps(std::vector<source_step> const& steps, source_function const* function, source_text& to);
  void find_name_prefix(source_function const& function, source_text& to);

  source_model const& model_;
  source_plan const& plan_;
  std::map<int, identifier> const& types_;
  source_text indent_;
  std::size_t known_names_ = 0;                   // number of functions and types among the declared names
  std::map<int, identifier> names_;               // of values
  std::map<int, std::size_t> last_use_;           // for each value, the step
  std::map<identifier, std::size_t> used_until_;  // for each variable, the last step that uses a value with its name
  int first_numbered_ = 1;                // among t1, t2 ..., the number at which the search for a free one begins
  std::size_t numbered_free_at_ = never;  // the first step at which a smaller number is free
  std::set<identifier> declared_, kept_;  // variables, and those that are not assigned again
  std::map<int, identifier> shared_;      // variables of layers and models that are called again
  std::vector<name_piece> prefix_;        // the common beginning of names in a function
};

}  // namespace stagecraft::tool
