// SPDX-License-Identifier: BSD-3-Clause
// The table of a model's pipeline stages: Keras on IPU's `print_pipeline_stage_assignment_summary`, and everything that
// it prints as constants.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/graph/post_order.hpp>
#include <stagecraft/models/detail/table.hpp>
#include <stagecraft/models/summary_options.hpp>
#include <stagecraft/pipeline/pipelined.hpp>
#include <array>
#include <cstddef>
#include <string_view>

namespace stagecraft::pipeline {

/// One call of a layer in a summary of pipeline stages.
struct pipeline_summary_row {
  fixed_name name;
  std::string_view class_name;
  int node_index = 0;  ///< the number of the call among those of its layer, inside its own model
  int pipeline_stage = unassigned;
  int nested_model = 0;          ///< the number of the nested model's call that it belongs to; 0: the model itself
  fixed_name nested_model_name;  ///< empty for the model itself
  tracing::array_view<fixed_name const> input_layers;  ///< the layers and nested models whose outputs it takes
};

/// The name of one of a call's inputs, as the call's model sees it.
constexpr fixed_name name_of_input(graph_view const& graph, int call, int input) {
  graph_records const records{graph.calls, graph.inputs, graph.nested_models, graph.nested_inputs, graph.model_outputs};
  int const model = graph.call(call).nested_model;
  int const child = post_order::child_holding(records, input, model);
  if (child == model) return graph.layer_of(input).name;
  if (child >= 0) return graph.nested_models[child].name;
  for (auto const& own : graph.nested_inputs_of(model))
    if (own.call == input && !own.name.empty()) return own.name;
  // A model without an input of its own: Keras names one after the first layer.
  return fixed_name(graph.layer_of(call).name).append("_input");
}

template <class M>
constexpr std::size_t count_input_names() {
  std::size_t count = 0;
  for (int const call : graph_of<M>.order) count += graph_of<M>.own_inputs_of(call).size();
  return count;
}

template <class M>
inline constexpr auto input_names = [] {
  std::array<fixed_name, count_input_names<M>()> names{};
  std::size_t count = 0;
  for (int const call : graph_of<M>.order)
    for (int const input : graph_of<M>.own_inputs_of(call)) names[count++] = name_of_input(graph_of<M>, call, input);
  return names;
}();

/// The rows of a model's summary of pipeline stages, as a std::array of pipeline_summary_row in Keras's order.
template <Model M>
inline constexpr auto pipeline_summary_rows = [] {
  auto const& graph = graph_of<M>;
  std::array<pipeline_summary_row, graph_of<M>.order.size()> rows{};
  tracing::array_view<fixed_name const> names(input_names<M>);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    int const index = graph.order[i];
    auto const& call = graph.call(index);
    auto& row = rows[i];
    row.name = graph.layer_of(index).name;
    row.class_name = graph.layer_of(index).class_name;
    row.node_index = call.node_index;
    row.pipeline_stage = checked_stages<M>.stage(index);
    row.nested_model = call.nested_model;
    if (call.nested_model != 0) {
      row.nested_model_name = graph.nested_models[call.nested_model].name;
      row.node_index = 0;
      for (int before = 0; before < index; ++before)
        if (graph.call(before).layer == call.layer && graph.call(before).nested_model == call.nested_model)
          ++row.node_index;
    }
    row.input_layers = names.first(call.input_count - call.mask_inputs);
    names = names.subspan(row.input_layers.size());
  }
  return rows;
}();

/// Announces the nested models that hold a row and not the row before, the outermost first.
inline void print_nested_titles(table_printer const& table, graph_view const& graph, int model, int before) {
  auto const parent = [&](int of) { return graph.nested_models[of].parent; };
  for (int outer = before; outer >= 0; outer = parent(outer))
    if (outer == model) return;
  print_nested_titles(table, graph, parent(model), before);
  table.title("Nested Model", graph.nested_models[model].name);
  table.rule('-');
}

inline void print_pipeline_summary(graph_view const& graph, tracing::array_view<pipeline_summary_row const> rows,
                                   summary_options const& options) {
  static constexpr double sequential_widths[]{0.5, 1.0};
  static constexpr double graph_widths[]{0.4, 0.8, 1.0};
  bool const sequential = graph.kind() == model_kind::sequential;
  table_printer const table(options, sequential ? 60 : 89,
                            sequential ? tracing::array_view<double const>(sequential_widths)
                                       : tracing::array_view<double const>(graph_widths));
  table.title("Model", graph.name());
  table.rule('_');
  if (sequential)
    table.row({"Layer (type)", "Pipeline Stage"});
  else
    table.row({"Layer (type) (node index)", "Input Layers", "Pipeline Stage"});
  table.rule('=');
  int model = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    auto const& row = rows[i];
    print_nested_titles(table, graph, row.nested_model, model);
    model = row.nested_model;
    table_text title(row.name), stage;
    title.append(" (").append(row.class_name).append(')');
    if (row.pipeline_stage == unassigned)
      stage.append("None");
    else
      stage.append(row.pipeline_stage);
    if (sequential) {
      table.row({title.view(), stage.view()});
    } else {
      title.append(" (").append(row.node_index).append(')');
      table.row(
          {title.view(), row.input_layers.empty() ? std::string_view{} : row.input_layers[0].view(), stage.view()});
      for (std::size_t k = 1; k < row.input_layers.size(); ++k) table.row({"", row.input_layers[k].view(), ""});
    }
    table.rule(i + 1 == rows.size() || rows[i + 1].nested_model != model ? '=' : '_');
  }
}

}  // namespace stagecraft::pipeline

namespace stagecraft {

/// Prints Keras on IPU's summary of a stage assignment, in its layout: 60 characters wide for a sequential model, 89
/// with the node index and the input layers of each call for the others. A call without a stage prints `None`.
template <Model M>
void print_pipeline_stage_assignment_summary(summary_options const& options = {}) {
  detail::print_pipeline_summary(graph_of<M>, pipeline::pipeline_summary_rows<M>, options);
}

}  // namespace stagecraft
