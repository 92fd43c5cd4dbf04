// SPDX-License-Identifier: BSD-3-Clause
// The contents of a model's picture: boxes for calls of layers and for nested models, level by level, the arrows
// between them, and the options (the arguments of Keras's plot_model).
#pragma once

#include <stagecraft/diagnostics/exceptions.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/graph/post_order.hpp>
#include <stagecraft/pipeline/pipelined.hpp>
#include <stagecraft/report/detail/text_writer.hpp>
#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stagecraft {

/// The direction in which a model's picture is read: from top to bottom or from left to right.
enum class rankdir : unsigned char { tb, lr };

/// Options of a model's picture, with Keras's names and defaults. Its `dpi` has no meaning here: the picture has no
/// pixels.
struct plot_model_options {
  /// True: each box shows its layer's input and output shapes.
  bool show_shapes = false;
  /// True: each box shows its layer's dtype.
  bool show_dtype = false;
  /// True: each box shows its layer's name.
  bool show_layer_names = true;
  /// The direction in which the picture is read: tb from top to bottom, lr from left to right.
  stagecraft::rankdir rankdir = stagecraft::rankdir::tb;
  /// True: nested models are frames with their own layers; false: one box each.
  bool expand_nested = false;
  /// The names of the first and the last layer, or nested model, that the picture shows, in Keras's order; empty: all.
  struct layers {
    std::string_view first = {}, last = {};
  } layer_range = {};
};

}  // namespace stagecraft

namespace stagecraft::reports {

/// A model that is drawn.
struct drawn_model {
  graph_view const& graph;
  tracing::array_view<int const> stages;  ///< the stage of each call; empty: the model has no stages
  tracing::array_view<int const> devices;
  int stage_count = 0;

  /// The stage of a call; `unassigned` if it has none.
  [[nodiscard]] int stage(int call) const {
    return stages.empty() || graph.call(call).is_input ? unassigned : stages[call];
  }
  [[nodiscard]] int device(int of_stage) const { return devices.empty() ? of_stage : devices[of_stage]; }
};

/// A box of a picture.
struct model_node {
  enum class node_kind : unsigned char {
    call,    // a call of a layer
    model,   // a nested model
    input,   // an input of a nested model
    output,  // an output of a nested model; not drawn
  };
  node_kind kind = node_kind::call;
  int index = 0;          ///< the call, the nested model, or the number of the input or output
  std::string name = {};  ///< the name that Keras prints, and a node index if the layer is called more than once
  std::string class_name = {};
  std::string type = {};    ///< dtype of its first output
  std::string shapes = {};  ///< "(None, 28, 28) → (None, 784)"
  int first_stage = unassigned, last_stage = unassigned;
  int level = -1;  ///< index in model_nodes::levels of an expanded nested model
};

/// An arrow between two nodes of one level; `output` and `input` are the numbers of the outputs and inputs of nested
/// models.
struct model_arrow {
  int from = 0, output = 0;
  int to = 0, input = 0;
  bool between_stages = false;

  friend bool operator==(model_arrow const&, model_arrow const&) = default;
};

/// The nodes of a model's own, or a nested model's.
struct model_level {
  int model = 0;
  std::vector<model_node> nodes;
  std::vector<model_arrow> arrows;
};

/// Finds the nodes and arrows of a picture.
class model_nodes {
 public:
  model_nodes(drawn_model const& model, plot_model_options const& options)
      : model_(model),
        graph_(model.graph),
        records_{graph_.calls, graph_.inputs, graph_.nested_models, graph_.nested_inputs, graph_.model_outputs},
        expand_(options.expand_nested) {
    add_level(0);
    if (!options.layer_range.first.empty() || !options.layer_range.last.empty()) keep(options.layer_range);
  }

  /// All levels; the first is the model's own.
  [[nodiscard]] std::vector<model_level> const& levels() const { return levels_; }

 private:
  using node_kind = model_node::node_kind;
  [[nodiscard]] int child_holding(int call, int model) const {
    return post_order::child_holding(records_, call, model);
  }
  [[nodiscard]] nested_model_info const& nested(int model) const { return graph_.nested_models[model]; }

  /// The node and output that a level takes a tensor from.
  struct source {
    int node = -1;
    int output = 0;
  };

  int add_level(int model) {
    int const number = static_cast<int>(levels_.size());
    levels_.push_back({model, {}, {}});
    model_level level{model, {}, {}};
    std::vector<int> node_of_call(graph_.calls.size(), -1), node_of_child(graph_.nested_models.size(), -1);
    auto const own_inputs =
        model == 0 ? tracing::array_view<nested_input_info const>{} : graph_.nested_inputs_of(model);
    for (int i = 0; i < static_cast<int>(own_inputs.size()); ++i) level.nodes.push_back(input_node(model, i));
    for (int call = 0; call < static_cast<int>(graph_.calls.size()); ++call) {
      int const child = child_holding(call, model);
      if (child < 0 || graph_.call(call).is_part() || (child != model && node_of_child[child] >= 0)) continue;
      (child == model ? node_of_call[call] : node_of_child[child]) = static_cast<int>(level.nodes.size());
      level.nodes.push_back(child == model ? call_node(call) : child_node(child));
      if (child != model && expand_) level.nodes.back().level = add_level(child);
    }
    auto const find = [&](int call) -> source {
      int const child = child_holding(call, model);
      if (child == model) return {node_of_call[graph_.producer(call)], 0};
      if (child >= 0) {
        auto const outputs = graph_.outputs_of(child);
        auto const place = std::find(outputs.begin(), outputs.end(), call) - outputs.begin();
        return {node_of_child[child], static_cast<int>(place)};
      }
      for (int i = 0; i < static_cast<int>(own_inputs.size()); ++i)
        if (own_inputs[i].call == call) return {i, 0};
      return {};
    };
    auto const connect = [&](int call, int to, int input, int stage) {
      if (call < 0) return;
      source const from = find(call);
      if (from.node < 0) return;
      int const stage_before = model_.stage(call);
      model_arrow const arrow{from.node, from.output, to, input,
                              stage_before != unassigned && stage != unassigned && stage != stage_before};
      // One arrow is enough where a call takes a tensor twice.
      if (std::find(level.arrows.begin(), level.arrows.end(), arrow) == level.arrows.end())
        level.arrows.push_back(arrow);
    };
    int const nodes = static_cast<int>(level.nodes.size());
    for (int i = 0; i < nodes; ++i) {
      auto const& node = level.nodes[i];
      if (node.kind == node_kind::call)
        for (int const call : graph_.inputs_of(node.index)) connect(call, i, 0, model_.stage(node.index));
      if (node.kind == node_kind::model) {
        auto const inputs = graph_.nested_inputs_of(node.index);
        for (int k = 0; k < static_cast<int>(inputs.size()); ++k)
          connect(inputs[k].call, i, expand_ ? k : 0, node.first_stage);
      }
    }
    if (model != 0) {
      auto const outputs = graph_.outputs_of(model);
      for (int k = 0; k < static_cast<int>(outputs.size()); ++k) {
        level.nodes.push_back({.kind = node_kind::output, .index = k});
        connect(outputs[k], nodes + k, 0, unassigned);
      }
    }
    levels_[number] = std::move(level);
    return number;
  }

  [[nodiscard]] model_node call_node(int index) const {
    auto const& call = graph_.call(index);
    auto const& layer = graph_.layer_of(index);
    model_node node{.kind = node_kind::call, .index = index, .name = std::string(layer.name.view())};
    if (layer.call_count > 1) node.name += '[' + std::to_string(call.node_index) + ']';
    node.class_name = call.is_input ? "InputLayer" : std::string(layer.class_name);
    node.type = name(call.type);
    std::vector<int> const inputs(graph_.inputs_of(index).begin(), graph_.inputs_of(index).end());
    node.shapes = shapes(inputs, tracing::array_view<int const>(&index, 1));
    node.first_stage = node.last_stage = model_.stage(index);
    return node;
  }

  [[nodiscard]] model_node child_node(int model) const {
    auto const& info = nested(model);
    model_node node{.kind = node_kind::model, .index = model, .name = std::string(info.name.view())};
    bool called_again = info.node_index > 0;
    for (int other = model + 1; other < static_cast<int>(graph_.nested_models.size()); ++other)
      called_again = called_again || (nested(other).instance == info.instance && nested(other).parent == info.parent);
    if (called_again) node.name += '[' + std::to_string(info.node_index) + ']';
    node.class_name = info.class_name;
    std::vector<int> inputs;
    for (auto const& input : graph_.nested_inputs_of(model))
      if (input.call >= 0) inputs.push_back(input.call);
    node.type = name(graph_.call(graph_.outputs_of(model)[0]).type);
    node.shapes = shapes(inputs, graph_.outputs_of(model));
    for (int call = 0; call < static_cast<int>(graph_.calls.size()); ++call) {
      if (child_holding(call, info.parent) != model || model_.stage(call) == unassigned) continue;
      int const stage = model_.stage(call);
      node.first_stage = node.first_stage == unassigned ? stage : std::min(node.first_stage, stage);
      node.last_stage = std::max(node.last_stage, stage);
    }
    return node;
  }

  [[nodiscard]] model_node input_node(int model, int index) const {
    auto const& input = graph_.nested_inputs_of(model)[index];
    model_node node{.kind = node_kind::input, .index = index, .name = std::string(input.name.view())};
    node.class_name = "InputLayer";
    if (node.name.empty()) node.name = std::string(nested(model).name.view()) + "_input";
    if (input.call >= 0) {
      node.type = name(graph_.call(input.call).type);
      node.shapes = shapes({}, tracing::array_view<int const>(&input.call, 1));
    }
    return node;
  }

  /// "[(None, 3), (None, 5)] → (None, 8)".
  [[nodiscard]] std::string shapes(tracing::array_view<int const> inputs,
                                   tracing::array_view<int const> outputs) const {
    std::string text;
    auto const shapes_of = [&](tracing::array_view<int const> calls) {
      std::vector<shape> result;
      for (int const call : calls) result.push_back(graph_.call(call).shape);
      return result;
    };
    auto const append = [&](tracing::array_view<shape const> each) {
      if (each.size() > 1) text += '[';
      for (std::size_t i = 0; i < each.size(); ++i) {
        if (i > 0) text += ", ";
        fixed_text<96> one;
        each[i].append_with_batch_to(one, graph_.batch_size());
        text += one.view();
      }
      if (each.size() > 1) text += ']';
    };
    append(shapes_of(inputs));
    if (!inputs.empty()) text += " \xe2\x86\x92 ";
    append(outputs.size() == 1 ? graph_.shapes_of_outputs(outputs[0])
                               : tracing::array_view<shape const>(shapes_of(outputs)));
    return text;
  }

  /// Keras's layer_range: leaves the others out. Its order is that of a summary, deepest first.
  void keep(plot_model_options::layers const& range) {
    auto& level = levels_[0];
    std::vector<int> listed;
    for (int const entry : post_order(records_).layers(0)) listed.push_back(entry);
    auto const name_of = [&](int entry) -> std::string_view {
      return entry < 0 ? nested(-1 - entry).name.view() : graph_.layer_of(entry).name.view();
    };
    auto const place_of = [&](std::string_view name, std::size_t otherwise) {
      if (name.empty()) return otherwise;
      for (std::size_t i = 0; i < listed.size(); ++i)
        if (name_of(listed[i]) == name) return i;
      throw data_error("E4080", "plot_model: model '" + std::string(graph_.name()) + "' has no layer '" +
                                    std::string(name) + "' that layer_range could begin or end with");
    };
    auto const first = place_of(range.first, 0), last = place_of(range.last, listed.size() - 1);
    std::vector<int> new_index(level.nodes.size(), -1);
    std::vector<model_node> nodes;
    for (std::size_t i = 0; i < level.nodes.size(); ++i) {
      auto const& node = level.nodes[i];
      auto const name =
          node.kind == node_kind::call ? graph_.layer_of(node.index).name.view() : nested(node.index).name.view();
      auto const place = place_of(name, 0);
      if (place < std::min(first, last) || place > std::max(first, last)) continue;
      new_index[i] = static_cast<int>(nodes.size());
      nodes.push_back(node);
    }
    std::vector<model_arrow> arrows;
    for (auto arrow : level.arrows) {
      arrow.from = new_index[arrow.from];
      arrow.to = new_index[arrow.to];
      if (arrow.from >= 0 && arrow.to >= 0) arrows.push_back(arrow);
    }
    level.nodes = std::move(nodes);
    level.arrows = std::move(arrows);
  }

  drawn_model model_;
  graph_view const& graph_;
  graph_records records_;
  bool expand_;
  std::vector<model_level> levels_;
};

}  // namespace stagecraft::reports
