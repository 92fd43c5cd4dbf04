// SPDX-License-Identifier: BSD-3-Clause
// Which operations on tensors of a functional model become one graph: those that are connected without a layer between
// them, so that the graph can be made when all of its inputs are known.
#pragma once

#include "keras/config_calls.hpp"
#include "keras/operator_graph.hpp"

#include <functional>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

namespace stagecraft::tool {

class operator_groups {
 public:
  /// A layer's number and that of its call.
  using place = std::pair<int, int>;
  /// What comes next: a call of a layer, or a group of operations.
  struct step {
    std::size_t call = 0;
    int group = -1;
  };

  /// `order`: the calls, each after those that it needs; `nodes`: for each call, its number among those of its layer.
  operator_groups(std::vector<config_call> const& calls, std::vector<int> const& nodes,
                  std::vector<std::size_t> const& order, std::function<place(history const&)> place_of,
                  std::vector<history> const& outputs);

  [[nodiscard]] std::vector<step> const& steps() const { return steps_; }
  [[nodiscard]] std::vector<std::size_t> const& members(int group) const { return groups_.at(tool::at(group)); }
  [[nodiscard]] place place_of(history const& tensor) const { return place_of_(tensor); }
  /// True if a layer, another group or the model's outputs need a tensor of a group.
  [[nodiscard]] bool is_needed(std::tuple<int, int, int> const& tensor) const { return needed_.contains(tensor); }

 private:
  std::function<place(history const&)> place_of_;
  std::vector<step> steps_;
  std::vector<std::vector<std::size_t>> groups_;
  std::set<std::tuple<int, int, int>> needed_;
};

}  // namespace stagecraft::tool
