// SPDX-License-Identifier: BSD-3-Clause
// Places for the nodes of a directed acyclic graph, in layers: each edge leads to a later layer. Nodes stand as near to
// connected nodes as their neighbours allow, and the longest path through the graph is straight.
// (Sugiyama, Tagawa, Toda 1981; the straight lines are the blocks of Brandes and Köpf 2001.)
#pragma once

#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/report/detail/layer_order.hpp>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace stagecraft::reports {

/// `across` is the way along a layer, `along` the way from layer to layer.
struct layout_point {
  double across = 0, along = 0;
};

/// Distances in a layout.
struct layout_spacing {
  double between_nodes = 26;
  double beside_wire = 14;  ///< between a node, or another wire, and a wire that passes
  double between_layers = 20;
};

/// Nodes are added with their sizes, then edges, then `arrange` gives them their places.
class layered_layout {
 public:
  /// Adds a node of a size; returns its number. First and last nodes stand in the first or last layer.
  int add_node(double across, double along, node_place place = node_place::anywhere) {
    nodes_.push_back({across, along, place, 0});
    return static_cast<int>(nodes_.size()) - 1;
  }
  /// Adds an edge between two nodes, which begins and ends at these offsets from the nodes' middles.
  void add_edge(int from, int to, double from_offset = 0, double to_offset = 0) {
    edges_.push_back({from, to, from_offset, to_offset});
  }

  void arrange(layout_spacing const& spacing = {}) {
    spacing_ = spacing;
    if (nodes_.empty()) return;
    find_layers();
    make_wires();
    order_ = layer_order(layers_, links_);
    make_blocks();
    place_blocks();
    place_layers();
    for (auto& edge : edges_) edge.way = way_of(edge);
  }

  [[nodiscard]] int size() const { return static_cast<int>(nodes_.size()); }
  /// The middle of a node.
  [[nodiscard]] layout_point middle(int node) const {
    auto const& item = items_[node];
    return {item.across, (layer_begin_[item.layer] + layer_end_[item.layer]) / 2};
  }
  [[nodiscard]] double across_of(int node) const { return nodes_[node].across; }
  [[nodiscard]] double along_of(int node) const { return nodes_[node].along; }

  [[nodiscard]] int edge_count() const { return static_cast<int>(edges_.size()); }
  /// The points that an edge passes: it is straight between those of one layer, and bends between the layers.
  [[nodiscard]] tracing::array_view<layout_point const> way(int edge) const { return edges_[edge].way; }
  [[nodiscard]] std::pair<int, int> ends(int edge) const { return {edges_[edge].from, edges_[edge].to}; }

  [[nodiscard]] double across() const { return across_; }
  [[nodiscard]] double along() const { return layer_end_.empty() ? 0 : layer_end_.back(); }

 private:
  struct node_record {
    double across, along;
    node_place place;
    int layer;
    std::vector<int> inputs{}, outputs{};  // edges
  };
  struct edge_record {
    int from, to;
    double from_offset, to_offset;
    std::vector<layout_point> way{};
    std::vector<int> wire{};  // items that the edge passes
  };
  /// An item of a layer: a node, or a wire that passes it.
  struct item_record {
    int layer = 0;
    double across = 0;  // its middle
    double half = 0;    // half of its width
    int path = 0;       // nodes on the longest path through it
    bool is_wire = false;
    int block = -1;
    double shift = 0;  // offset of its middle from the block's
  };

  /// Each node is one layer after the last of its inputs; a node without inputs is one layer before its first consumer.
  void find_layers() {
    for (int e = 0; e < edge_count(); ++e) {
      nodes_[edges_[e].from].outputs.push_back(e);
      nodes_[edges_[e].to].inputs.push_back(e);
    }
    std::vector<int> missing(nodes_.size()), ready;
    for (int n = 0; n < size(); ++n)
      if ((missing[n] = static_cast<int>(nodes_[n].inputs.size())) == 0) ready.push_back(n);
    for (std::size_t i = 0; i < ready.size(); ++i)
      for (int const e : nodes_[ready[i]].outputs) {
        auto& to = nodes_[edges_[e].to];
        to.layer = std::max(to.layer, nodes_[ready[i]].layer + 1);
        if (--missing[edges_[e].to] == 0) ready.push_back(edges_[e].to);
      }
    topological_ = std::move(ready);
    int last = 0;
    for (auto const& node : nodes_) last = std::max(last, node.layer);
    for (auto& node : nodes_) {
      if (node.place == node_place::last) node.layer = last;
      if (node.place != node_place::anywhere || !node.inputs.empty() || node.outputs.empty()) continue;
      int first = last;
      for (int const e : node.outputs) first = std::min(first, nodes_[edges_[e].to].layer);
      node.layer = first - 1;
    }
    layers_.assign(last + 1, {});
  }

  /// Lengths of the longest paths through each node, in nodes.
  std::vector<int> longest_paths() const {
    std::vector<int> before(nodes_.size(), 1), behind(nodes_.size(), 1);
    for (int const n : topological_)
      for (int const e : nodes_[n].outputs) before[edges_[e].to] = std::max(before[edges_[e].to], before[n] + 1);
    for (std::size_t i = topological_.size(); i-- > 0;)
      for (int const e : nodes_[topological_[i]].inputs)
        behind[edges_[e].from] = std::max(behind[edges_[e].from], behind[topological_[i]] + 1);
    for (std::size_t n = 0; n < before.size(); ++n) before[n] += behind[n];
    return before;
  }

  /// One wire per output of a node passes the layers up to its last consumer; the consumers branch off from it.
  void make_wires() {
    auto const paths = longest_paths();
    items_.clear();
    for (int n = 0; n < size(); ++n) items_.push_back({nodes_[n].layer, 0, nodes_[n].across / 2, paths[n], false});
    // Nodes begin in the order in which they were added, which is nearly right most of the time.
    std::vector<char> entered(nodes_.size(), 0);
    for (int n = 0; n < size(); ++n) layers_[nodes_[n].layer].push_back(n);
    for (int n = 0; n < size(); ++n) {
      std::vector<std::pair<double, std::vector<int>>> wires;  // wires of each output
      for (int const e : nodes_[n].outputs) {
        auto& edge = edges_[e];
        std::size_t w = 0;
        while (w < wires.size() && wires[w].first != edge.from_offset) ++w;
        if (w == wires.size()) wires.push_back({edge.from_offset, {}});
        auto& wire = wires[w].second;
        int const passed = nodes_[edge.to].layer - nodes_[n].layer - 1;
        while (static_cast<int>(wire.size()) < passed) {
          int const layer = nodes_[n].layer + 1 + static_cast<int>(wire.size());
          int const added = static_cast<int>(items_.size());
          items_.push_back({layer, 0, 0, 0, true});
          layers_[layer].push_back(added);
          if (wire.empty())
            link(n, added, edge.from_offset, 0);
          else
            link(wire.back(), added, 0, 0);
          wire.push_back(added);
        }
        edge.wire.assign(wire.begin(), wire.begin() + passed);
        if (passed == 0)
          link(n, edge.to, edge.from_offset, edge.to_offset);
        else
          link(edge.wire.back(), edge.to, 0, edge.to_offset);
      }
    }
  }
  void link(int from, int to, double from_offset, double to_offset) {
    links_.push_back({from, to, from_offset, to_offset});
  }

  /// Joins items between which edges are straight: those of a wire, and the nodes on the longest way.
  void make_blocks() {
    std::vector<std::vector<int>> below(items_.size()), above(items_.size());
    for (int l = 0; l < static_cast<int>(links_.size()); ++l) {
      below[links_[l].from].push_back(l);
      above[links_[l].to].push_back(l);
    }
    std::vector<std::pair<long, int>> candidates;  // negative priority
    for (int l = 0; l < static_cast<int>(links_.size()); ++l)
      candidates.push_back({-priority(links_[l], below, above), l});
    std::sort(candidates.begin(), candidates.end());
    std::vector<int> next(items_.size(), -1), previous(items_.size(), -1);
    for (auto const& [negative, l] : candidates) {
      auto const& own = links_[l];
      if (negative == 0 || next[own.from] >= 0 || previous[own.to] >= 0) continue;
      bool crosses = false;
      for (int const other : layers_[items_[own.from].layer])
        if (int const end = next[other]; end >= 0)
          crosses = crosses || (order_.position(other) < order_.position(own.from)) !=
                                   (order_.position(end) < order_.position(own.to));
      if (crosses) continue;
      next[own.from] = own.to;
      previous[own.to] = own.from;
      items_[own.to].shift = own.from_offset - own.to_offset;
    }
    blocks_.clear();
    for (auto const& layer : layers_)
      for (int const first : layer) {
        if (previous[first] >= 0) continue;
        blocks_.push_back({});
        for (int i = first; i >= 0; i = next[i]) {
          items_[i].block = static_cast<int>(blocks_.size()) - 1;
          if (i != first) items_[i].shift += items_[previous[i]].shift;
          blocks_.back().items.push_back(i);
        }
      }
    for (auto const& own : links_) {
      auto const &from = items_[own.from], &to = items_[own.to];
      if (from.block == to.block) continue;
      // The block's middle would have to be at the other block's middle plus this.
      double const distance = to.shift + own.to_offset - from.shift - own.from_offset;
      blocks_[from.block].pulls.push_back({to.block, distance});
      blocks_[to.block].pulls.push_back({from.block, -distance});
    }
  }

  /// The priority of placing two items in one line. 0: none, so that equal branches lie on both sides.
  long priority(link_record const& own, auto const& below, auto const& above) const {
    auto const& from = items_[own.from];
    auto const& to = items_[own.to];
    if (from.is_wire && to.is_wire) return 1'000'000;
    if (from.is_wire || to.is_wire) return 1;
    long const path = std::min(from.path, to.path);
    for (int const other : below[own.from])
      if (auto const& end = items_[links_[other].to]; &end != &to && !end.is_wire && end.path >= path) return 0;
    for (int const other : above[own.to])
      if (auto const& end = items_[links_[other].from]; &end != &from && !end.is_wire && end.path >= path) return 0;
    return 2'000'000 + path;
  }

  /// The distance from the middle of an item's block to that of its right neighbour's.
  [[nodiscard]] double distance(int left, int right) const {
    auto const &a = items_[left], &b = items_[right];
    return a.half + b.half + a.shift - b.shift +
           (a.is_wire || b.is_wire ? spacing_.beside_wire : spacing_.between_nodes);
  }

  /// Places blocks as far left as possible; then each goes to the middle of the blocks that it is connected with, as
  /// far as its neighbours let it.
  void place_blocks() {
    std::vector<std::vector<std::pair<int, double>>> left(blocks_.size()), right(blocks_.size());
    std::vector<int> missing(blocks_.size(), 0);
    for (auto const& layer : layers_)
      for (std::size_t i = 1; i < layer.size(); ++i) {
        int const a = items_[layer[i - 1]].block, b = items_[layer[i]].block;
        left[b].push_back({a, distance(layer[i - 1], layer[i])});
        right[a].push_back({b, distance(layer[i - 1], layer[i])});
        ++missing[b];
      }
    std::vector<int> sorted;
    for (int b = 0; b < static_cast<int>(blocks_.size()); ++b)
      if (missing[b] == 0) sorted.push_back(b);
    for (std::size_t i = 0; i < sorted.size(); ++i)
      for (auto const& [b, width] : right[sorted[i]]) {
        blocks_[b].across = std::max(blocks_[b].across, blocks_[sorted[i]].across + width);
        if (--missing[b] == 0) sorted.push_back(b);
      }
    auto const pull = [&](int b) {
      auto& own = blocks_[b];
      if (own.pulls.empty()) return;
      std::vector<double> wanted;
      for (auto const& [other, offset] : own.pulls) wanted.push_back(blocks_[other].across + offset);
      std::sort(wanted.begin(), wanted.end());
      double place = (wanted[(wanted.size() - 1) / 2] + wanted[wanted.size() / 2]) / 2;
      for (auto const& [other, width] : right[b]) place = std::min(place, blocks_[other].across - width);
      for (auto const& [other, width] : left[b]) place = std::max(place, blocks_[other].across + width);
      own.across = place;
    };
    for (int round = 0; round < 24; ++round) {
      for (std::size_t i = sorted.size(); i-- > 0;) pull(sorted[i]);
      for (int const b : sorted) pull(b);
    }
    double first = 0, last = 0;
    bool any = false;
    for (auto& item : items_) {
      item.across = blocks_[item.block].across + item.shift;
      first = any ? std::min(first, item.across - item.half) : item.across - item.half;
      last = any ? std::max(last, item.across + item.half) : item.across + item.half;
      any = true;
    }
    for (auto& item : items_) item.across -= first;
    across_ = last - first;
  }

  /// Layers are as far from each other as the edges between them need, which are flatter the farther they go.
  void place_layers() {
    std::vector<double> height(layers_.size(), 0), farthest(layers_.size(), 0);
    for (auto const& node : nodes_) height[node.layer] = std::max(height[node.layer], node.along);
    for (auto const& own : links_) {
      auto const &from = items_[own.from], &to = items_[own.to];
      double const way = std::abs(from.across + own.from_offset - to.across - own.to_offset);
      farthest[from.layer] = std::max(farthest[from.layer], way);
    }
    double along = 0;
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      layer_begin_.push_back(along);
      layer_end_.push_back(along + height[l]);
      along += height[l] + spacing_.between_layers + std::min(0.07 * farthest[l], 1.5 * spacing_.between_layers);
    }
  }

  [[nodiscard]] std::vector<layout_point> way_of(edge_record const& own) const {
    auto const from = middle(own.from), to = middle(own.to);
    double const start = from.across + own.from_offset, end = to.across + own.to_offset;
    int const first = items_[own.from].layer, last = items_[own.to].layer;
    std::vector<layout_point> points{{start, from.along + along_of(own.from) / 2}, {start, layer_end_[first]}};
    for (int const wire : own.wire) {
      auto const& item = items_[wire];
      points.push_back({item.across, layer_begin_[item.layer]});
      points.push_back({item.across, layer_end_[item.layer]});
    }
    points.push_back({end, layer_begin_[last]});
    points.push_back({end, to.along - along_of(own.to) / 2});
    return points;
  }

  struct block_record {
    std::vector<int> items;
    std::vector<std::pair<int, double>> pulls;
    double across = 0;
  };

  layout_spacing spacing_;
  std::vector<node_record> nodes_;
  std::vector<edge_record> edges_;
  std::vector<int> topological_;
  std::vector<item_record> items_;  // the nodes first
  std::vector<link_record> links_;
  std::vector<std::vector<int>> layers_;
  layer_order order_;
  std::vector<block_record> blocks_;
  std::vector<double> layer_begin_, layer_end_;
  double across_ = 0;
};

}  // namespace stagecraft::reports
