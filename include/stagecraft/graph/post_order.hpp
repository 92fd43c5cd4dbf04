// SPDX-License-Identifier: BSD-3-Clause
// The order in which Keras lists the calls of a model, and in which a stage assignment is written: deepest first, and
// within one depth in the order of creation (keras.engine.functional, `_map_graph_network`). A nested model counts as
// one node; its own calls follow in its own order. Level 1.
#pragma once

#include <cstddef>
#include <span>
#include <stagecraft/graph/node.hpp>
#include <vector>

namespace stagecraft::detail {

/// What the ordering needs to see of a graph.
struct graph_records {
  std::span<call_info const> calls;
  std::span<int const> inputs;
  std::span<nested_model_info const> nested_models;
  std::span<int const> model_outputs;
};

/// A node of one level: a call of a layer, or a call of a nested model.
struct level_node {
  int call = -1;          // the call, or the first call inside the nested model
  int nested_model = -1;  // the nested model, or -1
  int key = 0;            // equal for calls that share their weights
  int depth = 0;
  int visited = 0;        // order in which Keras first sees the node's layer
  std::vector<int> inputs;
};

/// Orders one level after the other.
class post_order {
 public:
  constexpr explicit post_order(graph_records const& graph) : graph_(graph) {}

  /// All calls but the inputs.
  constexpr std::vector<int> calls() {
    std::vector<int> result;
    append_calls(0, result);
    return result;
  }

  /// The nodes of one model's own level, as `summary` lists them: one per layer or instance, inputs included.
  /// A call's index, or -1 - index of a nested model.
  constexpr std::vector<int> layers(int model) {
    auto const nodes = level(model);
    std::vector<int> order = sorted(nodes, true);
    std::vector<int> result, seen;
    for (int const i : order) {
      auto const& node = nodes[at(i)];
      bool known = false;
      for (int const key : seen) known = known || key == node.key;
      if (known) continue;
      seen.push_back(node.key);
      result.push_back(node.nested_model < 0 ? node.call : -1 - node.nested_model);
    }
    return result;
  }

 private:
  static constexpr std::size_t at(int index) { return static_cast<std::size_t>(index); }

  constexpr void append_calls(int model, std::vector<int>& result) {
    auto const nodes = level(model);
    for (int const i : sorted(nodes, false)) {
      auto const& node = nodes[at(i)];
      if (node.nested_model >= 0)
        append_calls(node.nested_model, result);
      else if (!graph_.calls[at(node.call)].is_input)
        result.push_back(node.call);
    }
  }

  /// The nested model directly inside `model` that holds a call, `model` itself, or -1 if the call is outside.
  constexpr int child_holding(int call, int model) const {
    int at_level = graph_.calls[at(call)].nested_model;
    if (at_level == model) return model;
    while (at_level >= 0) {
      auto const parent = graph_.nested_models[at(at_level)].parent;
      if (parent == model) return at_level;
      at_level = parent;
    }
    return -1;
  }

  constexpr std::vector<level_node> level(int model) const {
    std::vector<level_node> nodes;
    std::vector<int> node_of(graph_.calls.size(), -1);
    std::vector<int> node_of_model(graph_.nested_models.size(), -1);
    for (int i = 0; i < static_cast<int>(graph_.calls.size()); ++i) {
      int const child = child_holding(i, model);
      if (child < 0) continue;
      if (child == model || node_of_model[at(child)] < 0) {
        level_node node;
        node.call = i;
        if (child == model) {
          node.key = 2 * graph_.calls[at(i)].layer;
        } else {
          node.nested_model = child;
          node.key = 2 * graph_.nested_models[at(child)].instance + 1;
          node_of_model[at(child)] = static_cast<int>(nodes.size());
        }
        nodes.push_back(node);
      }
      int const own = child == model ? static_cast<int>(nodes.size()) - 1 : node_of_model[at(child)];
      node_of[at(i)] = own;
      auto const& call = graph_.calls[at(i)];
      for (int k = 0; k < call.input_count; ++k) {
        int const from = node_of[at(graph_.inputs[at(call.first_input + k)])];
        if (from >= 0 && from != own) nodes[at(own)].inputs.push_back(from);
      }
    }
    set_depths(nodes, node_of, model);
    return nodes;
  }

  /// Depth 0 is an output; a node is one deeper than its deepest consumer, and at least as deep as the earlier
  /// visited calls of its layer.
  constexpr void set_depths(std::vector<level_node>& nodes, std::vector<int> const& node_of, int model) const {
    std::vector<char> finished(nodes.size(), 0);
    std::vector<int> order;
    std::vector<int> visited_of_key(key_count(), -1);
    int visited = 0;
    auto const see = [&](int index) {
      auto& known = visited_of_key[at(nodes[at(index)].key)];
      if (known < 0) known = visited++;
      nodes[at(index)].visited = known;
    };
    struct frame {
      int node;
      std::size_t next;
    };
    std::vector<frame> stack;
    auto const visit = [&](int start) {
      if (start < 0 || finished[at(start)] != 0) return;
      stack.push_back({start, 0});
      see(start);
      while (!stack.empty()) {
        auto& top = stack.back();
        auto const& node = nodes[at(top.node)];
        if (top.next == node.inputs.size()) {
          if (finished[at(top.node)] == 0) {
            finished[at(top.node)] = 1;
            order.push_back(top.node);
          }
          stack.pop_back();
          continue;
        }
        int const next = node.inputs[top.next++];
        if (finished[at(next)] == 0) {
          see(next);
          stack.push_back({next, 0});
        }
      }
    };
    auto const& outputs = graph_.nested_models[at(model)];
    for (int i = 0; i < outputs.output_count; ++i) visit(node_of[at(graph_.model_outputs[at(outputs.first_output + i)])]);
    for (int i = 0; i < static_cast<int>(nodes.size()); ++i) visit(i);

    std::vector<int> depth_of_key(key_count(), 0);
    for (std::size_t i = order.size(); i-- > 0;) {
      auto& node = nodes[at(order[i])];
      auto& known = depth_of_key[at(node.key)];
      if (known > node.depth) node.depth = known;
      known = node.depth;
      for (int const input : node.inputs)
        if (nodes[at(input)].depth < node.depth + 1) nodes[at(input)].depth = node.depth + 1;
    }
  }

  [[nodiscard]] constexpr std::size_t key_count() const {
    return 2 * (graph_.calls.size() + graph_.nested_models.size()) + 2;
  }

  /// Deepest first; within a depth by creation, or by the order in which Keras first sees the layers.
  static constexpr std::vector<int> sorted(std::vector<level_node> const& nodes, bool by_visit) {
    std::vector<int> order;
    order.reserve(nodes.size());
    for (int i = 0; i < static_cast<int>(nodes.size()); ++i) {
      auto const before = [&](int a, int b) {
        auto const& x = nodes[at(a)];
        auto const& y = nodes[at(b)];
        if (x.depth != y.depth) return x.depth > y.depth;
        return by_visit ? x.visited < y.visited : false;
      };
      std::size_t place = order.size();
      while (place > 0 && before(i, order[place - 1])) --place;
      order.insert(order.begin() + static_cast<std::ptrdiff_t>(place), i);
    }
    return order;
  }

  graph_records graph_;
};

}  // namespace stagecraft::detail
