// SPDX-License-Identifier: BSD-3-Clause
// Changes of a model that was read from a file.
#pragma once

#include "source/source_model.hpp"

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft::tool {

/// An expression that matches a name from its beginning if `expression` is found anywhere in it.
[[nodiscard]] std::string searched_expression(std::string const& expression);

/// Regular expressions that are searched for, as by Python's `re.search`.
class name_search {
 public:
  explicit name_search(std::vector<std::string> const& expressions);

  /// True if an expression is found in a name; records the expressions that were found.
  [[nodiscard]] bool finds(std::string const& name);
  /// True if an expression is found in the path of a layer, or in the name of a node that it was made of.
  [[nodiscard]] bool finds(std::string const& path, std::vector<std::string> const& nodes);
  /// Records the expressions that are found in names that belong to no layer, such as those of constants.
  void see(std::vector<std::string> const& names);
  /// Reports expressions that were never found on the error stream.
  void report(std::string const& option) const;

 private:
  struct expression {
    std::string text, searched;
    bool is_found = false;
  };
  std::vector<expression> expressions_;
};

/// Calls `visit(layer, path)` for all layers except inputs and models, in nested models, too.
void for_each_layer(source_model& model, std::string const& prefix,
                    std::function<void(model_layer& layer, std::string const& path)> const& visit);

/// The names of the nodes that each layer was made of, by the layer's path.
[[nodiscard]] std::map<std::string, std::vector<std::string>> nodes_by_path(source_model const& model);

/// For each call of a layer, the layer's path and the call's name in solution files. The calls of a nested model stand
/// at the place of its own call. Names: "encoder/dense", and "encoder/dense[1]" if it is the second.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> list_calls(source_model const& model);

/// Lets all readers of `from`, the model's outputs included, read `to`.
void replace_uses(source_model& model, source_tensor const& from, source_tensor const& to);

/// Removes calls that nothing reads, and layers without calls.
void remove_calls(source_model& model, std::vector<bool> const& is_removed);

}  // namespace stagecraft::tool
