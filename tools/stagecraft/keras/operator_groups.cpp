// SPDX-License-Identifier: BSD-3-Clause
#include "keras/operator_groups.hpp"

#include <algorithm>
#include <numeric>

namespace stagecraft::tool {

operator_groups::operator_groups(std::vector<config_call> const& calls, std::vector<int> const& nodes,
                                 std::vector<std::size_t> const& order, std::function<place(history const&)> place_of,
                                 std::vector<history> const& outputs)
    : place_of_(std::move(place_of)) {
  std::vector<bool> is_operator(calls.size());
  std::map<place, std::size_t> giver;
  bool has_operators = false;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    is_operator[i] = !calls[i].positional.is_null();
    has_operators = has_operators || is_operator[i];
    giver.emplace(place(calls[i].layer, nodes[i]), i);
  }
  if (!has_operators) {
    for (auto const i : order) steps_.push_back({i});
    return;
  }
  // A level is the number of changes between operations and layers on the longest way to a call. Between two operations
  // of one level there is no layer.
  std::vector<int> level(calls.size());
  std::vector<std::size_t> root(calls.size());
  std::iota(root.begin(), root.end(), std::size_t{0});
  auto const root_of = [&](std::size_t i) {
    while (root[i] != i) i = root[i] = root[root[i]];
    return i;
  };
  auto const from = [&](history const& tensor) {
    auto const found = giver.find(place_of_(tensor));
    return found == giver.end() ? calls.size() : found->second;
  };
  for (auto const i : order)
    for (auto const& tensor : calls[i].inputs)
      if (auto const before = from(tensor); before < calls.size())
        level[i] = std::max(level[i], level[before] + (is_operator[before] && is_operator[i] ? 0 : 1));
  for (auto const i : order)
    for (auto const& tensor : calls[i].inputs)
      if (auto const before = from(tensor); before < calls.size() && is_operator[before] && is_operator[i])
        if (level[before] == level[i]) root[root_of(i)] = root_of(before);
  auto const needs = [&](history const& tensor) {
    auto const at = place_of_(tensor);
    needed_.insert({at.first, at.second, tensor.output});
  };
  for (auto const& each : outputs) needs(each);
  for (std::size_t i = 0; i < calls.size(); ++i)
    for (auto const& tensor : calls[i].inputs) {
      auto const before = from(tensor);
      bool const is_inside =
          before < calls.size() && is_operator[before] && is_operator[i] && root_of(before) == root_of(i);
      if (!is_inside) needs(tensor);
    }
  auto sorted = order;
  std::stable_sort(sorted.begin(), sorted.end(), [&](auto a, auto b) { return level[a] < level[b]; });
  std::map<std::size_t, int> group_of;
  for (auto const i : sorted) {
    if (!is_operator[i]) {
      steps_.push_back({i});
      continue;
    }
    auto const [found, is_new] = group_of.emplace(root_of(i), static_cast<int>(groups_.size()));
    if (is_new) {
      groups_.emplace_back();
      steps_.push_back({i, found->second});
    }
    groups_[at(found->second)].push_back(i);
  }
}

}  // namespace stagecraft::tool
