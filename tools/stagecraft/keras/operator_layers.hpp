// SPDX-License-Identifier: BSD-3-Clause
// Makes layers of the operations on tensors of a functional model, and adds them to it.
#pragma once

#include "keras/operator_groups.hpp"

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace stagecraft::tool {

class operator_layers {
 public:
  /// An output of an operation: the numbers of the operation, its call and the output.
  using place = std::tuple<int, int, int>;

  /// Reasons why an operation cannot be here are added to `problems`.
  operator_layers(std::string const& file, std::vector<std::string>& problems) : file_(file), problems_(problems) {}

  /// Adds an operation. Returns its number, which no layer has.
  int declare(std::string name, std::string function);
  /// What an output of an operation has become in the model; none if it is none, or has not been added.
  [[nodiscard]] std::optional<source_tensor> find(place const& output) const;
  /// Adds the layers of a group of operations. `find_tensor` finds the tensors that calls before it gave.
  void add(source_model& model, operator_groups const& groups, int group, std::vector<config_call> const& calls,
           std::vector<int> const& nodes,
           std::function<std::optional<source_tensor>(history const&)> const& find_tensor,
           std::set<std::string>& names);

 private:
  struct operation {
    std::string name, function;
  };
  static constexpr int first = 1 << 28;  ///< the number of the first operation

  void splice(source_model made, std::vector<source_tensor> const& from, std::vector<place> const& places,
              source_model& model, std::set<std::string>& names);

  std::string const& file_;
  std::vector<std::string>& problems_;
  std::vector<operation> operations_;
  std::map<place, source_tensor> made_;
};

}  // namespace stagecraft::tool
