// SPDX-License-Identifier: BSD-3-Clause
// The order of nodes within the layers of a drawn graph, so that few edges cross.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace stagecraft::reports {

/// The layer in which a node of a layered layout must stand.
enum class node_place : unsigned char { anywhere, first, last };

/// A piece of an edge: from an item of one layer to an item of the next.
struct link_record {
  int from, to;
  double from_offset, to_offset;  // distances from the items' middles
};

/// Reorders the items of each layer: to the means of their neighbours, in the layer before and the layer after in turn,
/// and by exchanging neighbours where that removes crossings. Keeps the best order that it has seen.
class layer_order {
 public:
  layer_order() = default;

  layer_order(std::vector<std::vector<int>>& layers, std::vector<link_record> const& links) : layers_(&layers) {
    std::size_t items = 0;
    for (auto const& layer : layers) items += layer.size();
    above_.resize(items);
    below_.resize(items);
    positions_.resize(items);
    for (auto const& link : links) {
      above_[link.to].push_back({link.from, link.to_offset, link.from_offset});
      below_[link.from].push_back({link.to, link.from_offset, link.to_offset});
    }
    for (auto const& layer : layers) number(layer);
    auto best = layers;
    long fewest = crossings();
    for (int round = 0; round < 12 && fewest > 0; ++round) {
      for (std::size_t l = 1; l < layers.size(); ++l) sort(layers[l], above_);
      exchange();
      for (std::size_t l = layers.size() - 1; l-- > 0;) sort(layers[l], below_);
      exchange();
      if (long const count = crossings(); count < fewest) {
        fewest = count;
        best = layers;
      }
    }
    layers = std::move(best);
    for (auto const& layer : layers) number(layer);
    layers_ = nullptr;
  }

  /// The place of an item in its layer.
  [[nodiscard]] int position(int item) const { return positions_[item]; }

 private:
  struct neighbour {
    int item;
    double own_offset, offset;
  };

  void number(std::vector<int> const& layer) {
    for (std::size_t i = 0; i < layer.size(); ++i) positions_[layer[i]] = static_cast<int>(i);
  }

  /// A place between items: the offset of an edge's end is small beside the distance of two items.
  [[nodiscard]] double place(neighbour const& end) const { return positions_[end.item] + end.offset * 1e-4; }

  void sort(std::vector<int>& layer, std::vector<std::vector<neighbour>> const& neighbours) {
    struct keyed {
      double key;
      int position, item;
    };
    std::vector<keyed> order;
    for (int const item : layer) {
      double sum = 0;
      for (auto const& end : neighbours[item]) sum += place(end);
      auto const count = neighbours[item].size();
      int const position = positions_[item];
      order.push_back({count == 0 ? position : sum / static_cast<double>(count), position, item});
    }
    std::sort(order.begin(), order.end(),
              [](keyed const& a, keyed const& b) { return a.key != b.key ? a.key < b.key : a.position < b.position; });
    for (std::size_t i = 0; i < order.size(); ++i) layer[i] = order[i].item;
    number(layer);
  }

  /// Crossings of the edges of two items if `left` stands left of `right`.
  [[nodiscard]] long crossings(std::vector<neighbour> const& left, std::vector<neighbour> const& right) const {
    long count = 0;
    for (auto const& a : left)
      for (auto const& b : right) count += place(a) > place(b) ? 1 : 0;
    return count;
  }

  [[nodiscard]] long crossings() const {
    long count = 0;
    for (auto const& layer : *layers_)
      for (std::size_t i = 0; i < layer.size(); ++i) {
        auto const& own = below_[layer[i]];
        for (std::size_t a = 0; a < own.size(); ++a)
          for (std::size_t b = 0; b < own.size(); ++b)
            count += own[a].own_offset < own[b].own_offset && place(own[a]) > place(own[b]) ? 1 : 0;
        for (std::size_t k = i + 1; k < layer.size(); ++k) count += crossings(own, below_[layer[k]]);
      }
    return count;
  }

  void exchange() {
    bool changed = true;
    for (int round = 0; round < 8 && changed; ++round) {
      changed = false;
      for (auto& layer : *layers_)
        for (std::size_t i = 1; i < layer.size(); ++i) {
          auto const left = layer[i - 1], right = layer[i];
          long const now = crossings(above_[left], above_[right]) + crossings(below_[left], below_[right]);
          long const then = crossings(above_[right], above_[left]) + crossings(below_[right], below_[left]);
          if (then >= now) continue;
          std::swap(layer[i - 1], layer[i]);
          number(layer);
          changed = true;
        }
    }
  }

  std::vector<std::vector<int>>* layers_ = nullptr;  // the layers, while it works
  std::vector<std::vector<neighbour>> above_, below_;
  std::vector<int> positions_;
};

}  // namespace stagecraft::reports
