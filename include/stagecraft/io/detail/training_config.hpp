// SPDX-License-Identifier: BSD-3-Clause
// A training description, and Graphcore's options of a model, in JSON. The programs that `stagecraft pipeline` compiles
// include it without the rest of a bundle.
#pragma once

#include <stagecraft/description/effective_options.hpp>
#include <stagecraft/io/detail/model_config.hpp>
#include <stagecraft/io/detail/option_json.hpp>
#include <stagecraft/plan/layer_path.hpp>
#include <stagecraft/plan/pipeline_flow.hpp>
#include <stagecraft/plan/timetable_of.hpp>
#include <string>
#include <utility>
#include <vector>

namespace stagecraft::io {

/// The optimizer, the loss, the metrics and the sizes of batches and executions of a `sc::training`; null for an
/// inference.
template <auto Training>
[[nodiscard]] json training_config() {
  if constexpr (requires { Training.optimizer, Training.loss; }) {
    // A copy: Clang 19 reads members of template arguments from wrong offsets.
    static constexpr auto training = Training;
    auto metrics = json::array();
    for (int i = 0; i < training.metrics.size(); ++i) metrics.push_back(json_of(training.metrics[i].name()));
    return {{"optimizer", json_of_object(training.optimizer)},
            {"loss", json_of_object(training.loss)},
            {"metrics", std::move(metrics)},
            {"batch_size", training.batch_size},
            {"steps_per_execution", training.steps_per_execution}};
  } else {
    return nullptr;
  }
}

/// The keys that Graphcore's Keras merges into a model's configuration, and the stage of each call by its name, since
/// those keys cannot express stages of nested models.
template <class Staged, auto Training>
void add_graphcore_options(json& config) {
  constexpr auto const& graph = graph_of<Staged>;
  static constexpr auto training = Training;
  constexpr auto options = jobs::options_of<Staged, Training>;
  auto const steps = options.gradient_accumulation_steps_per_replica == 0
                         ? json()
                         : json(options.gradient_accumulation_steps_per_replica);
  constexpr bool pipelined = is_pipelined<Staged>;
  config["gradient_accumulation_steps_per_replica"] = pipelined ? json() : steps;
  config["gradient_accumulation_reduction_method"] = static_cast<int>(options.reduction_method);
  if constexpr (requires { Training.replicated_metric_reduction_method; }) {
    auto method = json_of(training.replicated_metric_reduction_method).template get<std::string>();
    for (auto& letter : method)
      letter = static_cast<char>(letter >= 'a' && letter <= 'z' ? letter - 'a' + 'A' : letter);
    config["replicated_metric_reduction_method"] = method;
    config["asynchronous_callbacks"] = training.asynchronous_callbacks;
  }
  config["pipelining_gradient_accumulation_steps_per_replica"] = pipelined ? steps : json();
  config["pipelining_accumulate_outfeed"] = options.accumulate_outfeed;
  auto devices = json::array();
  if constexpr (pipelined)
    for (auto const& stage : stagecraft::detail::devices_of_stages<Staged>) devices.push_back(stage.device);
  config["pipelining_device_mapping"] = pipelined ? std::move(devices) : json();
  config["infeed_kwargs"] = json::object();
  if (training.infeed_queue.prefetch_depth != 0)
    config["infeed_kwargs"]["prefetch_depth"] = training.infeed_queue.prefetch_depth;
  config["outfeed_kwargs"] = {{"buffer_depth", training.outfeed_queue.buffer_depth}};

  auto assignment = json::array(), stages = json::object();
  if constexpr (pipelined) {
    std::vector<json> const none(graph.layers.size());
    auto const nodes = model_writer(graph, none).nodes_of(0);
    bool is_nested = false;
    for (int const call : graph.order) {
      int const stage = stagecraft::detail::stage_of_graph_call<Staged>(call);
      auto const& info = graph.call(call);
      stages[stagecraft::detail::path_of_call(graph, call)] = stage;
      is_nested = is_nested || info.nested_model != 0;
      int index = 0;
      while (index < static_cast<int>(nodes.size()) &&
             (nodes[static_cast<std::size_t>(index)] < 0 ||
              graph.call(nodes[static_cast<std::size_t>(index)]).layer != info.layer))
        ++index;
      if (graph.kind() == tracing::model_kind::sequential)
        assignment.push_back(stage);
      else
        assignment.push_back({index, info.node_index, stage});
    }
    if (is_nested) assignment = json::array();
  }
  config["pipeline_stage_assignment"] = std::move(assignment);
  if (graph.kind() == tracing::model_kind::sequential) config["pipeline_stage_assignment_valid"] = pipelined;
  config["pipeline_stages"] = std::move(stages);
}

}  // namespace stagecraft::io
