// SPDX-License-Identifier: BSD-3-Clause
#include "commands/node_groups.hpp"

#include "commands/model_edits.hpp"
#include "pipeline/pipeline_solution.hpp"

#include <stagecraft/models/name_pattern.hpp>
#include <map>
#include <memory>
#include <vector>

namespace stagecraft::tool {

namespace {

/// The options that name nodes, and the groups that were found so far.
struct known_groups {
  std::vector<name_search> searched;             ///< each divides nodes in two
  std::vector<std::vector<std::string>> stages;  ///< expressions of stages, which match the beginning
  std::map<std::string, int> solution;           ///< stages of a solution file
  std::map<std::vector<int>, int> numbers;
  std::map<std::string, int> of_node;

  int number(std::string const& node) {
    if (auto const found = of_node.find(node); found != of_node.end()) return found->second;
    std::vector<int> key;
    for (auto& each : searched) key.push_back(each.finds(node) ? 1 : 0);
    int stage = -1;
    for (std::size_t i = 0; i < stages.size(); ++i)
      for (auto const& text : stages[i])
        if (stage < 0 && models::name_pattern(text).matches(node)) stage = static_cast<int>(i);
    key.push_back(stage);
    auto const placed = solution.find(node);
    key.push_back(placed == solution.end() ? -1 : placed->second);
    auto const group = numbers.emplace(key, static_cast<int>(numbers.size())).first->second;
    return of_node[node] = group;
  }
};

}  // namespace

std::function<int(std::string const& node)> groups_of(convert_options const& options) {
  auto const known = std::make_shared<known_groups>();
  known->searched.emplace_back(options.excluded_nodes);
  known->searched.emplace_back(options.precision_conversion_excluded_nodes);
  for (auto const& each : options.manual_sharding) known->searched.emplace_back(each);
  if (options.gelu_replacement) known->searched.emplace_back(options.gelu_replacement->nodes);
  if (options.pipeline_cfg) {
    known->stages = options.pipeline_cfg->manual_pipeline_config;
    if (options.pipeline_cfg->converter == pipeline_converter::load)
      for (auto const& [name, stage] : read_pipeline_solution(options.pipeline_cfg->solution_path).pipeline_mapping)
        known->solution[name] = stage;
  }
  return [known](std::string const& node) { return known->number(node); };
}

}  // namespace stagecraft::tool
