// SPDX-License-Identifier: BSD-3-Clause
// The stages of a model as a solution file, which sc::pipeline::solution_file and `stagecraft convert` read.
#pragma once

#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/models/model_graph.hpp>
#include <stagecraft/pipeline/pipelined.hpp>
#include <stagecraft/plan/layer_path.hpp>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft {

/// The text of a solution file: names with their stages, and the device of each stage. A name has neither quotes nor
/// backslashes.
[[nodiscard]] inline std::string solution_text(std::span<std::pair<std::string, int> const> mapping,
                                               tracing::array_view<int const> devices) {
  std::string text = "{\n \"device_mapping\": [";
  for (std::size_t i = 0; i < devices.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(devices[i]);
  text += "],\n \"pipeline_mapping\": {";
  for (std::size_t i = 0; i < mapping.size(); ++i)
    text += (i == 0 ? "\n  \"" : ",\n  \"") + mapping[i].first + "\": " + std::to_string(mapping[i].second);
  return text + "\n }\n}\n";
}

/// That of a pipelined model, in Keras's order. A layer has one entry, and one more for each call that is in another
/// stage than its first one.
///
///     std::ofstream("resnet50.pipeconfig") << sc::solution_text<sc::even_pipeline<resnet50, 4>>();
template <Model M>
[[nodiscard]] std::string solution_text() {
  constexpr auto const& graph = graph_of<M>;
  constexpr auto const& staged = detail::checked_stages<M>;
  std::vector<std::pair<std::string, int>> mapping;
  for (int const call : graph.order) {
    int const stage = staged.stage(call), first = graph.layer_of(call).first_call;
    if (graph.call(call).node_index == 0 || stage != staged.stage(first))
      mapping.emplace_back(detail::path_of_call(graph, call), stage);
  }
  std::vector<int> devices;
  for (int stage = 0; stage < staged.stage_count(); ++stage) devices.push_back(staged.device(stage));
  return solution_text(mapping, devices);
}

}  // namespace stagecraft
