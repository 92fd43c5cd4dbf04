// SPDX-License-Identifier: BSD-3-Clause
// The order in which Keras executes and lists the calls of a model, and in which a stage assignment is written: deepest
// first, and within one depth as Keras's search from the outputs gets to know them (keras.engine.functional,
// `_map_graph_network`). For calls that are consumed in the order in which they were made, that is this order too; the
// heads of a model with several outputs come last output first. A nested model counts as one node; its own calls follow
// in its own order.
#pragma once

#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/graph/node.hpp>
#include <cstddef>

namespace stagecraft::tracing {

/// The part of a graph that its ordering reads.
struct graph_records {
  tracing::array_view<call_info const> calls;
  tracing::array_view<int const> inputs;
  tracing::array_view<nested_model_info const> nested_models;
  tracing::array_view<nested_input_info const> nested_inputs;
  tracing::array_view<int const> model_outputs;
};

/// A node of one level: a call of a layer, or a call of a nested model.
struct level_node {
  int call = -1;          // the call, or the first call inside the nested model
  int nested_model = -1;  // the nested model, or -1
  int key = 0;            // equal for calls that share their weights
  int first_input = 0;    // its inputs are the nodes level_inputs[first_input, first_input + input_count)
  int input_count = 0;
  int depth = -1;
  int next = -1;  // the node known next, of the same depth
};

/// Orders one level after the other.
class post_order {
 public:
  constexpr explicit post_order(graph_records const& graph) : graph_(graph) {}

  /// All calls but the inputs.
  constexpr growing_array<int> calls() const {
    growing_array<int> result;
    result.reserve(graph_.calls.size());
    append_calls(0, result);
    return result;
  }

  /// The nodes of one model's own level, as `summary` lists them: one per layer or instance, inputs included. Deepest
  /// first, within one depth in the order in which the search from the outputs comes across the layers.
  /// A call's index, or -1 - index of a nested model.
  constexpr growing_array<int> layers(int model) const {
    level own(graph_, model);
    own.find_depths();
    return own.layers();
  }

  /// True if each depth of a model's own level has one node of at most one input, and no layer is called twice.
  constexpr bool is_chain(int model) const {
    level own(graph_, model);
    own.find_depths();
    growing_array<char> known(own.depth_of_key.size(), 0);
    for (int const first : own.first_of_depth)
      if (first >= 0 && own.nodes[first].next >= 0) return false;
    for (auto const& node : own.nodes) {
      if (node.input_count > 1 || known[node.key] != 0) return false;
      known[node.key] = 1;
    }
    return true;
  }

  /// The nested model directly inside `model` that holds a call, `model` itself, or -1 if the call is outside.
  static constexpr int child_holding(graph_records const& graph, int call, int model) {
    int at_level = graph.calls[call].nested_model;
    if (at_level == model) return model;
    while (at_level >= 0) {
      auto const parent = graph.nested_models[at_level].parent;
      if (parent == model) return at_level;
      at_level = parent;
    }
    return -1;
  }

 private:
  constexpr void append_calls(int model, growing_array<int>& result) const {
    level own(graph_, model);
    own.find_depths();
    for (int depth = own.deepest(); depth >= 0; --depth)
      for (int i = own.first_of_depth[depth]; i >= 0; i = own.nodes[i].next) {
        auto const& node = own.nodes[i];
        if (node.nested_model >= 0)
          append_calls(node.nested_model, result);
        else if (graph_.calls[node.call].is_listed())
          result.push_back(node.call);
      }
  }

  /// The nodes of one model's own level, and their depths.
  struct level {
    graph_records const& graph;
    growing_array<level_node> nodes;
    growing_array<int> inputs;
    growing_array<int> roots;           // the nodes of the model's outputs
    growing_array<int> first_of_depth;  // the nodes of one depth, chained by `next`
    growing_array<int> visit_of_key;    // when the search came across a layer first
    growing_array<int> depth_of_key;

    constexpr level(graph_records const& graph_, int model) : graph(graph_) {
      growing_array<int> node_of(graph.calls.size(), -1);
      growing_array<int> node_of_model(graph.nested_models.size(), -1);
      nodes.reserve(graph.calls.size());
      int keys = 0;
      for (int i = 0; i < static_cast<int>(graph.calls.size()); ++i) {
        auto const& call = graph.calls[i];
        int const child = call.nested_model == model ? model : child_holding(graph, i, model);
        if (child < 0) continue;
        if (child != model && node_of_model[child] >= 0) {
          node_of[i] = node_of_model[child];
          continue;
        }
        if (call.is_part()) {  // an output of a call that has a node
          node_of[i] = node_of[graph.inputs[call.first_input]];
          continue;
        }
        int const index = static_cast<int>(nodes.size());
        level_node node;
        node.call = i;
        node.first_input = static_cast<int>(inputs.size());
        if (child == model) {
          node.key = 2 * call.layer;
          for (int k = 0; k < call.input_count; ++k) add_input(node_of[graph.inputs[call.first_input + k]]);
        } else {
          auto const& nested = graph.nested_models[child];
          node.nested_model = child;
          node.key = 2 * nested.instance + 1;
          node_of_model[child] = index;
          for (int k = 0; k < nested.input_count; ++k) {
            int const from = graph.nested_inputs[nested.first_input + k].call;
            if (from >= 0) add_input(node_of[from]);
          }
        }
        node.input_count = static_cast<int>(inputs.size()) - node.first_input;
        node_of[i] = index;
        nodes.push_back(node);
        if (node.key >= keys) keys = node.key + 1;
      }
      auto const& own = graph.nested_models[model];
      for (int k = 0; k < own.output_count; ++k)
        if (int const root = node_of[graph.model_outputs[own.first_output + k]]; root >= 0) roots.push_back(root);
      visit_of_key.resize(keys, -1);
      depth_of_key.resize(keys, 0);
    }

    [[nodiscard]] constexpr int deepest() const { return static_cast<int>(first_of_depth.size()) - 1; }

    /// Depth 0 is an output; a node is one deeper than its deepest consumer, and at least as deep as the calls of its
    /// layer that were looked at before.
    constexpr void find_depths() {
      auto const finished = search();
      growing_array<int> reached;  // in the order in which nodes first get a depth
      reached.reserve(nodes.size());
      auto const reach = [&](int index, int depth) {
        auto& node = nodes[index];
        if (node.depth < 0) reached.push_back(index);
        if (node.depth < depth) node.depth = depth;
      };
      for (std::size_t i = finished.size(); i-- > 0;) {
        auto const& node = nodes[finished[i]];
        reach(finished[i], depth_of_key[node.key]);
        depth_of_key[node.key] = node.depth;
        for (int k = 0; k < node.input_count; ++k) reach(inputs[node.first_input + k], node.depth + 1);
      }
      for (int i = 0; i < static_cast<int>(nodes.size()); ++i)
        if (nodes[i].depth < 0) reach(i, 0);  // inputs that nothing uses

      for (int const i : reached)
        if (nodes[i].depth > deepest()) first_of_depth.resize(nodes[i].depth + 1, -1);
      for (std::size_t i = reached.size(); i-- > 0;) {
        auto& first = first_of_depth[nodes[reached[i]].depth];
        nodes[reached[i]].next = first;
        first = reached[i];
      }
    }

    constexpr growing_array<int> layers() const {
      growing_array<char> known(visit_of_key.size(), 0);
      growing_array<int> result, of_depth;
      for (int depth = deepest(); depth >= 0; --depth) {
        of_depth.clear();
        for (int i = first_of_depth[depth]; i >= 0; i = nodes[i].next) {
          int const key = nodes[i].key;
          if (known[key] != 0) continue;
          known[key] = 1;
          std::size_t place = of_depth.size();
          while (place > 0 && visit_of_key[key] < visit_of_key[nodes[of_depth[place - 1]].key]) --place;
          of_depth.insert(of_depth.begin() + static_cast<std::ptrdiff_t>(place), i);
        }
        for (int const i : of_depth) {
          auto const& node = nodes[i];
          result.push_back(node.nested_model < 0 ? node.call : -1 - node.nested_model);
        }
      }
      return result;
    }

   private:
    constexpr void add_input(int node) {
      if (node >= 0) inputs.push_back(node);
    }

    /// The nodes that the outputs need, each after all of its inputs.
    constexpr growing_array<int> search() {
      struct frame {
        int node;
        int next;
      };
      growing_array<char> entered(nodes.size(), 0);
      growing_array<int> finished;
      growing_array<frame> stack;
      finished.reserve(nodes.size());
      int visits = 0;
      auto const enter = [&](int index) {
        if (entered[index] != 0) return;
        entered[index] = 1;
        auto& visit = visit_of_key[nodes[index].key];
        if (visit < 0) visit = visits++;
        stack.push_back({index, 0});
      };
      for (int const root : roots) {
        enter(root);
        while (!stack.empty()) {
          auto& top = stack.back();
          auto const& node = nodes[top.node];
          if (top.next < node.input_count) {
            enter(inputs[node.first_input + top.next++]);
          } else {
            finished.push_back(top.node);
            stack.pop_back();
          }
        }
      }
      return finished;
    }
  };

  graph_records graph_;
};

}  // namespace stagecraft::tracing
