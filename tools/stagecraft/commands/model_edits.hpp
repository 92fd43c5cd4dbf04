// SPDX-License-Identifier: BSD-3-Clause
// Changes of a model that was read from a file.
#pragma once

#include "source/source_model.hpp"

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft::tool {

/// The expression that matches the beginning of a name in which another one is found.
[[nodiscard]] std::string searched_expression(std::string const& expression);

/// Regular expressions that are searched for, as by Python's `re.search`.
class name_search {
 public:
  explicit name_search(std::vector<std::string> const& expressions);

  /// True if an expression is found in a name; remembers which expressions were found.
  [[nodiscard]] bool finds(std::string const& name);
  /// Says on the error stream which expressions were never found.
  void report(std::string const& option) const;

 private:
  struct expression {
    std::string text, searched;
    bool is_found = false;
  };
  std::vector<expression> expressions_;
};

/// Calls `visit(layer, path)` for all layers but inputs and models, in nested models as well.
void for_each_layer(source_model& model, std::string const& prefix,
                    std::function<void(model_layer& layer, std::string const& path)> const& visit);

/// For each call of a layer, in their order and those of nested models in the place of the call of these, the layer's
/// path and the name that the call has in solution files: "encoder/dense", and "encoder/dense[1]" if it is the second.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> list_calls(source_model const& model);

/// All that reads `from` reads `to`, outputs of the model among them.
void replace_uses(source_model& model, source_tensor const& from, source_tensor const& to);

/// Removes calls that nothing reads, and layers without calls.
void remove_calls(source_model& model, std::vector<bool> const& is_removed);

}  // namespace stagecraft::tool
