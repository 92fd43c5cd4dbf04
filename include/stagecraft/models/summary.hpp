// SPDX-License-Identifier: BSD-3-Clause
// The table of a model's layers: Keras's `summary()`, and everything that it prints as constants.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/graph/frozen.hpp>
#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/graph/post_order.hpp>
#include <stagecraft/models/detail/table.hpp>
#include <stagecraft/models/queries.hpp>
#include <stagecraft/models/summary_options.hpp>
#include <array>
#include <cstddef>
#include <string_view>

namespace stagecraft::models {

/// One input of one call of a layer: Keras's `name[node_index][tensor_index]`.
struct summary_connection {
  fixed_name name;  ///< the name of the layer or nested model that it comes from
  int node_index = 0;
  int tensor_index = 0;
};

/// One layer, or one nested model, of a summary.
struct summary_row {
  fixed_name name;
  std::string_view class_name;
  long long parameter_count = 0;
  bool is_input = false;
  bool is_model = false;
  /// Its outputs' shapes, without the batch: one, but for a nested model or a layer with several outputs.
  tracing::array_view<shape const> output_shapes;
  /// Its calls give different shapes; `output_shapes` is the first call's.
  bool has_several_shapes = false;
  /// The inputs of all its calls; empty for an input.
  tracing::array_view<summary_connection const> connected_to;

  [[nodiscard]] constexpr shape const& output_shape() const { return output_shapes[0]; }
};

struct summary_sizes {
  std::size_t rows = 0, shapes = 0, connections = 0;
};

template <summary_sizes Sizes>
struct summary_tables;

/// The rows of a summary, while their number is not known; `summary_tables` is what is kept of them.
struct summary_draft {
  static constexpr summary_sizes usual_sizes{16, 16, 24};
  template <summary_sizes Sizes>
  using frozen = summary_tables<Sizes>;

  growing_array<summary_row> rows;
  growing_array<shape> shapes;
  growing_array<int> shape_counts;
  growing_array<summary_connection> connections;
  growing_array<int> connection_counts;

  [[nodiscard]] constexpr summary_sizes sizes() const { return {rows.size(), shapes.size(), connections.size()}; }
};

/// Collects the rows of a graph's outermost model.
class summarizer {
 public:
  constexpr explicit summarizer(graph_view const& graph)
      : graph_(graph),
        records_{graph.calls, graph.inputs, graph.nested_models, graph.nested_inputs, graph.model_outputs} {}

  constexpr summary_draft draft() {
    if (graph_.kind() == model_kind::functional) {
      for (int const node : post_order(records_).layers(0)) add_node(node);
      return draft_;
    }
    // A sequential model or a subclass: in the order of the first calls, without inputs.
    growing_array<int> seen;
    for (int i = 0; i < static_cast<int>(graph_.calls.size()); ++i) {
      int const child = post_order::child_holding(records_, i, 0);
      bool const nested = child > 0;
      int const key = nested ? -1 - graph_.nested_models[child].instance : graph_.call(i).layer;
      bool known = !graph_.call(i).is_listed();
      for (int const other : seen) known = known || other == key;
      if (known) continue;
      seen.push_back(key);
      add_node(nested ? -1 - child : i);
    }
    return draft_;
  }

 private:
  constexpr void add_node(int node) {
    shapes_before_ = draft_.shapes.size();
    connections_before_ = draft_.connections.size();
    if (node >= 0)
      add_layer(graph_.call(node).layer);
    else
      add_model(-1 - node);
    draft_.shape_counts.push_back(static_cast<int>(draft_.shapes.size() - shapes_before_));
    draft_.connection_counts.push_back(static_cast<int>(draft_.connections.size() - connections_before_));
  }

  constexpr void add_layer(int layer) {
    auto const& info = graph_.layer(layer);
    summary_row row;
    row.name = info.name;
    row.class_name = info.class_name;
    for (auto const& weight : graph_.parameters_of(layer)) row.parameter_count += weight.counted_size();
    for (int i = 0; i < static_cast<int>(graph_.calls.size()); ++i) {
      auto const& call = graph_.call(i);
      if (call.layer != layer || call.nested_model != 0) continue;
      row.is_input = call.is_input;
      if (draft_.shapes.size() == shapes_before_)
        for (shape const& each : graph_.shapes_of_outputs(i)) draft_.shapes.push_back(each);
      else if (!(draft_.shapes.back() == graph_.shapes_of_outputs(i).back()))
        row.has_several_shapes = true;
      for (int const input : graph_.own_inputs_of(i)) connect(input);
    }
    draft_.rows.push_back(row);
  }

  constexpr void add_model(int model) {
    auto const& info = graph_.nested_models[model];
    summary_row row;
    row.name = info.name;
    row.class_name = info.class_name;
    row.is_model = true;
    for (int const output : graph_.outputs_of(model)) draft_.shapes.push_back(graph_.call(output).shape);
    for (int other = model; other < static_cast<int>(graph_.nested_models.size()); ++other) {
      auto const& nested = graph_.nested_models[other];
      if (nested.instance != info.instance || nested.parent != 0) continue;
      for (auto const& input : graph_.nested_inputs_of(other))
        if (input.call >= 0) connect(input.call);
    }
    for (int layer = 0; layer < static_cast<int>(graph_.layers.size()); ++layer)
      if (post_order::child_holding(records_, graph_.layer(layer).first_call, 0) == model)
        for (auto const& weight : graph_.parameters_of(layer)) row.parameter_count += weight.counted_size();
    draft_.rows.push_back(row);
  }

  constexpr void connect(int call) {
    summary_connection connection;
    int const child = post_order::child_holding(records_, call, 0);
    if (child > 0) {
      auto const& nested = graph_.nested_models[child];
      connection.name = nested.name;
      connection.node_index = nested.node_index;
      auto const outputs = graph_.outputs_of(child);
      for (std::size_t i = outputs.size(); i-- > 0;)
        if (outputs[i] == call) connection.tensor_index = static_cast<int>(i);
    } else {
      connection.name = graph_.layer_of(call).name;
      connection.node_index = graph_.call(graph_.producer(call)).node_index;
      connection.tensor_index = graph_.call(call).is_part() ? graph_.call(call).output_index : 0;
    }
    draft_.connections.push_back(connection);
  }

  graph_view const& graph_;
  graph_records records_;
  summary_draft draft_;
  std::size_t shapes_before_ = 0, connections_before_ = 0;
};

template <summary_sizes Sizes>
struct summary_tables {
  std::array<summary_row, Sizes.rows> rows;
  std::array<shape, Sizes.shapes> shapes;
  std::array<int, Sizes.rows> shape_counts;
  std::array<summary_connection, Sizes.connections> connections;
  std::array<int, Sizes.rows> connection_counts;

  constexpr explicit summary_tables(auto const& from)
      : rows(array_of<Sizes.rows>(from.rows)),
        shapes(array_of<Sizes.shapes>(from.shapes)),
        shape_counts(array_of<Sizes.rows>(from.shape_counts)),
        connections(array_of<Sizes.connections>(from.connections)),
        connection_counts(array_of<Sizes.rows>(from.connection_counts)) {}
};

template <class M>
struct make_summary {
  constexpr summary_draft operator()() const { return summarizer(graph_of<M>).draft(); }
};

/// The rows of a model's summary, as a std::array of summary_row in Keras's order of layers. A nested model is one row.
template <Model M>
inline constexpr auto summary_rows = [] {
  auto const& tables = frozen_draft<make_summary<M>>;
  auto rows = tables.rows;
  tracing::array_view<shape const> shapes(tables.shapes);
  tracing::array_view<summary_connection const> connections(tables.connections);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    auto const shape_count = static_cast<std::size_t>(tables.shape_counts[i]);
    auto const connection_count = static_cast<std::size_t>(tables.connection_counts[i]);
    rows[i].output_shapes = shapes.first(shape_count);
    rows[i].connected_to = connections.first(connection_count);
    shapes = shapes.subspan(shape_count);
    connections = connections.subspan(connection_count);
  }
  return rows;
}();

}  // namespace stagecraft::models

namespace stagecraft {

/// Number of weights that training changes: Keras's "Trainable params".
template <Model M>
constexpr long long count_trainable_parameters() {
  long long count = 0;
  for (auto const& weight : graph_of<M>.parameters) count += weight.trainable ? weight.size() : 0;
  return count;
}

}  // namespace stagecraft

namespace stagecraft::models {

/// True if a model's summary has no column "Connected to": a sequential model, a subclass, or a functional model whose
/// calls form one chain.
template <Model M>
inline constexpr bool is_sequential_like = [] {
  auto const& graph = graph_of<M>;
  return graph.kind() != model_kind::functional ||
         post_order({graph.calls, graph.inputs, graph.nested_models, graph.nested_inputs, graph.model_outputs})
             .is_chain(0);
}();

struct summary_totals {
  std::string_view name;
  model_kind kind;
  bool sequential_like;
  long long parameters, trainable;
  int batch_size;
};

[[gnu::cold]] inline table_text shape_cell(summary_row const& row, model_kind kind, int batch_size) {
  table_text text;
  // Keras does not know the shapes of a subclass's layers.
  if (row.has_several_shapes || (kind == model_kind::subclass && !row.is_model)) return text.append("multiple");
  bool const list = row.is_input || row.output_shapes.size() > 1;
  if (list) text.append('[');
  for (std::size_t i = 0; i < row.output_shapes.size(); ++i) {
    if (i > 0) text.append(", ");
    row.output_shapes[i].append_with_batch_to(text, batch_size);
  }
  if (list) text.append(']');
  return text;
}

[[gnu::cold]] inline void print_summary(tracing::array_view<summary_row const> rows, summary_totals const& model,
                                        summary_options const& options) {
  static constexpr double chain_widths[]{0.45, 0.85, 1.0};
  static constexpr double graph_widths[]{0.33, 0.55, 0.67, 1.0};
  bool const chain = model.sequential_like;
  table_printer const table(
      options, chain ? 65 : 98,
      chain ? tracing::array_view<double const>(chain_widths) : tracing::array_view<double const>(graph_widths));
  table.title("Model", model.name);
  table.rule('_');
  table.row({"Layer (type)", "Output Shape", "Param #", "Connected to"});
  table.rule('=');
  for (auto const& row : rows) {
    table_text name(row.name), count;
    name.append(" (").append(row.class_name).append(')');
    count.append(row.parameter_count);
    auto const shapes = shape_cell(row, model.kind, model.batch_size);
    std::size_t line = 0;
    do {
      table_text connection;
      if (!chain && line < row.connected_to.size()) {
        auto const& from = row.connected_to[line];
        connection.append(from.name)
            .append('[')
            .append(from.node_index)
            .append("][")
            .append(from.tensor_index)
            .append(']');
      }
      if (line == 0)
        table.row({name.view(), shapes.view(), count.view(), connection.view()});
      else
        table.row({"", "", "", connection.view()});
      ++line;
    } while (!chain && line < row.connected_to.size());
    table.rule(&row == &rows.back() ? '=' : '_');
  }
  table.line(table_text("Total params: ").append_with_commas(model.parameters).view());
  table.line(table_text("Trainable params: ").append_with_commas(model.trainable).view());
  table.line(table_text("Non-trainable params: ").append_with_commas(model.parameters - model.trainable).view());
  table.rule('_');
}

}  // namespace stagecraft::models

namespace stagecraft {

/// Prints Keras's summary of a model: `sc::summary<mlp>();`, with options `sc::summary<mlp>({.line_length = 80});`.
/// The layout is that of Keras 2.6, 65 characters wide for a chain of layers, 98 with the column "Connected to" for
/// other functional models. As in Keras, the layers of a model subclass have "multiple" for their shape; the shapes are
/// in `summary_rows`. Subclass layers are listed in the order of their first calls (Keras: of their construction).
template <Model M>
void summary(summary_options const& options = {}) {
  detail::print_summary(models::summary_rows<M>,
                        {graph_of<M>.name(), graph_of<M>.kind(), models::is_sequential_like<M>, count_parameters<M>(),
                         count_trainable_parameters<M>(), graph_of<M>.batch_size()},
                        options);
}

}  // namespace stagecraft
