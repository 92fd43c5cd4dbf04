// SPDX-License-Identifier: BSD-3-Clause
#include "source/layer_stages.hpp"

#include "applications/application_source.hpp"
#include "commands/model_edits.hpp"
#include "source/source_model.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/models/name_pattern.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <map>

namespace stagecraft::tool {

namespace {

/// The names of inputs, which are in no stage.
void list_inputs(source_model const& model, std::string const& path, std::vector<std::string>& names) {
  for (auto const& layer : model.layers) {
    if (layer.nested) list_inputs(*layer.nested, path + layer.name + "/", names);
    if (layer.is_input) names.push_back(path + layer.name);
  }
}

struct stage_expression {
  std::string text;
  int stage = 0;
  models::name_pattern pattern;
  bool matches = false;
};

/// The stages of layers by their names, in the order of their calls.
struct named_stages {
  std::vector<std::string> calls;
  /// The stage of each call, and the device of each stage, with one more stage on IPU 0 if there was none.
  std::vector<int> stages, devices;
};

/// Makes successive stages: a new one begins wherever the next layer has another stage.
pipeline_solution consecutive(named_stages const& from) {
  pipeline_solution solution;
  std::string devices;
  for (std::size_t i = 0; i < from.calls.size(); ++i) {
    if (i == 0 || from.stages[i] != from.stages[i - 1]) {
      solution.device_mapping.push_back(from.devices[static_cast<std::size_t>(from.stages[i])]);
      devices += (devices.empty() ? "" : ", ") + std::to_string(solution.device_mapping.back());
    }
    solution.pipeline_mapping.emplace_back(from.calls[i], solution.stages() - 1);
  }
  std::fprintf(stderr,
               "WARNING: layers of manual_pipeline_config's stages do not follow each other in the stages' order; the "
               "pipeline has %d stages, on the IPUs %s\n",
               solution.stages(), devices.c_str());
  return solution;
}

}  // namespace

pipeline_solution solution_of_layers(pipeline_solution given, std::string const& folder) {
  auto const file = folder + "/model.json";
  auto const model = read_config(json(read_json_file(file)), file, {});
  auto const nodes = nodes_by_path(model);
  bool const has_nodes = std::any_of(nodes.begin(), nodes.end(), [](auto const& each) { return !each.second.empty(); });
  if (!has_nodes) return given;
  std::map<std::string, int> stages(given.pipeline_mapping.begin(), given.pipeline_mapping.end());
  given.pipeline_mapping.clear();
  for (auto const& [path, call] : list_calls(model)) {
    std::pair<std::string, int> found{"", -1};
    for (auto const& node : nodes.at(path)) {
      auto const stage = stages.find(node);
      if (stage == stages.end()) continue;
      if (found.second >= 0 && found.second != stage->second)
        throw file_error("E5244", file + ": layer '" + path + "' is in two stages: in " + std::to_string(found.second) +
                                      " with the node '" + found.first + "', and in " + std::to_string(stage->second) +
                                      " with '" + node + "'");
      found = *stage;
    }
    if (auto const own = stages.find(call); own != stages.end()) found = *own;
    if (found.second >= 0) given.pipeline_mapping.emplace_back(call, found.second);
  }
  return given;
}

pipeline_solution stages_by_name(pipeline_configuration const& configuration, std::string const& folder) {
  auto const file = folder + "/model.json";
  auto const model = read_config(json(read_json_file(file)), file, {});
  auto const& lists = configuration.manual_pipeline_config;
  std::vector<stage_expression> expressions;
  for (std::size_t stage = 0; stage < lists.size(); ++stage)
    for (auto const& text : lists[stage])
      expressions.push_back({text, static_cast<int>(stage), models::name_pattern(text)});

  named_stages found{{}, {}, configuration.device_info};
  auto const on_first_ipu =
      static_cast<std::size_t>(std::find(found.devices.begin(), found.devices.end(), 0) - found.devices.begin());
  std::vector<int> layers_of(lists.size() + 1);
  std::string unmatched;
  std::vector<std::string> inputs;
  list_inputs(model, "", inputs);
  for (auto& each : expressions)
    for (auto const& input : inputs) each.matches = each.matches || each.pattern.matches(input);
  auto const nodes = nodes_by_path(model);
  for (auto const& [name, call] : list_calls(model)) {
    stage_expression const* first = nullptr;
    for (auto& each : expressions) {
      auto const& made_of = nodes.at(name);
      bool const is_node = std::any_of(made_of.begin(), made_of.end(),
                                       [&](std::string const& node) { return each.pattern.matches(node); });
      if (!is_node && !each.pattern.matches(name)) continue;
      each.matches = true;
      if (first != nullptr && first->stage != each.stage)
        throw file_error("E5177", file + ": layer '" + name + "' is in two stages: in " + std::to_string(first->stage) +
                                      " by the expression \"" + first->text + "\", and in " +
                                      std::to_string(each.stage) + " by \"" + each.text + "\"");
      if (first == nullptr) first = &each;
    }
    int stage = first != nullptr ? first->stage : configuration.unmatched_in_stage;
    if (stage < 0) {
      stage = static_cast<int>(on_first_ipu);
      if (on_first_ipu == found.devices.size()) found.devices.push_back(0);
      unmatched += (unmatched.empty() ? "'" : ", '") + call + "'";
    }
    ++layers_of[static_cast<std::size_t>(stage)];
    found.calls.push_back(call);
    found.stages.push_back(stage);
  }
  for (auto const& each : expressions)
    if (!each.matches)
      throw file_error("E5178", file + ": the expression \"" + each.text + "\" of stage " + std::to_string(each.stage) +
                                    " matches no layer; it is to match the beginning of a layer's name");
  for (std::size_t stage = 0; stage < lists.size(); ++stage)
    if (layers_of[stage] == 0) throw file_error("E5178", file + ": stage " + std::to_string(stage) + " has no layers");
  if (!unmatched.empty())
    std::fprintf(stderr, "WARNING: no expression of manual_pipeline_config matches %s: on IPU 0\n", unmatched.c_str());

  if (!std::is_sorted(found.stages.begin(), found.stages.end()) || found.devices.size() > lists.size())
    return consecutive(found);
  pipeline_solution solution;
  solution.device_mapping = found.devices;
  for (std::size_t i = 0; i < found.calls.size(); ++i)
    solution.pipeline_mapping.emplace_back(found.calls[i], found.stages[i]);
  return solution;
}

}  // namespace stagecraft::tool
