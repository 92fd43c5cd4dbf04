// SPDX-License-Identifier: BSD-3-Clause
#include "layer_stages.hpp"

#include "application_source.hpp"
#include "source_model.hpp"

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/pipeline/name_pattern.hpp>
#include <cstddef>

namespace stagecraft::tool {

namespace {

/// The names of all layers but inputs.
void list_layers(source_model const& model, std::string const& path, std::vector<std::string>& names) {
  for (auto const& layer : model.layers) {
    if (layer.nested) list_layers(*layer.nested, path + layer.name + "/", names);
    if (!layer.nested && !layer.is_input) names.push_back(path + layer.name);
  }
}

struct stage_expression {
  std::string text;
  int stage = 0;
  pipeline::name_pattern pattern;
  bool matches = false;
};

}  // namespace

pipeline_solution stages_by_name(pipeline_configuration const& configuration, std::string const& folder) {
  auto const file = folder + "/model.json";
  std::vector<std::string> names;
  list_layers(read_config(json(read_json_file(file)), file, {}), "", names);
  auto const& lists = configuration.manual_pipeline_config;
  std::vector<stage_expression> expressions;
  for (std::size_t stage = 0; stage < lists.size(); ++stage)
    for (auto const& text : lists[stage])
      expressions.push_back({text, static_cast<int>(stage), pipeline::name_pattern(text)});

  pipeline_solution solution;
  solution.device_mapping = configuration.device_info;
  std::vector<int> layers_of(lists.size());
  for (auto const& name : names) {
    stage_expression const* first = nullptr;
    for (auto& each : expressions) {
      if (!each.pattern.matches(name)) continue;
      each.matches = true;
      if (first != nullptr && first->stage != each.stage)
        throw file_error("E5177", file + ": layer '" + name + "' is in two stages: in " + std::to_string(first->stage) +
                                      " by the expression \"" + first->text + "\", and in " +
                                      std::to_string(each.stage) + " by \"" + each.text + "\"");
      if (first == nullptr) first = &each;
    }
    int const stage = first != nullptr ? first->stage : configuration.unmatched_in_stage;
    if (stage < 0)
      throw file_error("E5177", file + ": layer '" + name +
                                    "' is matched by no expression of manual_pipeline_config; each layer needs a stage "
                                    "(\"unmatched_in_stage\": 0 puts those that are left there)");
    ++layers_of[static_cast<std::size_t>(stage)];
    solution.pipeline_mapping.emplace_back(name, stage);
  }
  for (auto const& each : expressions)
    if (!each.matches)
      throw file_error("E5178", file + ": the expression \"" + each.text + "\" of stage " + std::to_string(each.stage) +
                                    " matches no layer; it is to match the beginning of a layer's name");
  for (std::size_t stage = 0; stage < layers_of.size(); ++stage)
    if (layers_of[stage] == 0) throw file_error("E5178", file + ": stage " + std::to_string(stage) + " has no layers");
  return solution;
}

}  // namespace stagecraft::tool
