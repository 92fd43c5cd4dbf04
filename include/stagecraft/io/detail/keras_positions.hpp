// SPDX-License-Identifier: BSD-3-Clause
// Names the weights of Keras's files, which identify them by layer and position, as the model's own weights.
#pragma once

#include <stagecraft/io/stored_tensor.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stagecraft::io {

/// The key of a text beside tensors that are named "<layer>\n<name in the file>", in Keras's order.
inline constexpr char const* keras_positions = "stagecraft_keras_layers";

/// What the names of tensors begin with that belong to one of several cells of a recurrent layer:
/// "*cells/lstm_cell_1/". Keras's files have the cells in alphabetical order, and name them as the weights here do. No
/// name of Keras has a star.
inline constexpr std::string_view stacked_cells = "*cells/";

/// A weight of a model, and its place in Keras's files.
struct weight_place {
  std::string path;   ///< "encoder/dense/kernel:0"
  std::string outer;  ///< "encoder": the layer, or nested model, of the outermost model
  std::string layer;  ///< "encoder/dense"
  bool trainable = true;
  std::vector<std::int64_t> shape;
};

/// A tensor of a file, before its weight is known.
struct placed_tensor {
  std::string_view name;
  std::span<std::int64_t const> shape;
};

/// True if a path such as "encoder/dense/kernel:0" has a name among its parts; the last part is the weight's.
[[nodiscard]] inline bool leads_through(std::string_view path, std::string_view name) {
  for (auto slash = path.find('/'); slash != std::string_view::npos; slash = path.find('/')) {
    if (path.substr(0, slash) == name) return true;
    path.remove_prefix(slash + 1);
  }
  return false;
}

/// Finds the weight of each tensor in a group of Keras's file. A group belongs to a layer or a nested model; a file
/// lists its tensors in the order that Keras reads them in, under names that depend on the graph or model in which they
/// were made: "dense/kernel:0", "dense_1/kernel:0", "sequential/dense/kernel", "dense_W:0".
class keras_group {
 public:
  static constexpr auto none = std::numeric_limits<std::size_t>::max();
  using indices = std::vector<std::size_t>;

  /// `own`: the model's weights in the group, in Keras's order, layer by layer.
  explicit keras_group(std::vector<weight_place const*> own) : own_(std::move(own)) {
    for (std::size_t i = 0; i < own_.size(); ++i) {
      if (layers_.empty() || own_[i]->layer != own_[layers_.back().front()]->layer) layers_.emplace_back();
      layers_.back().push_back(i);
    }
    for (std::size_t i = 0; i < layers_.size(); ++i) by_name_[last_part(layer(i))].push_back(i);
  }

  /// The weight of each tensor, as an index of `own`; `none`: it has no counterpart. A layer's weights have the order
  /// of its tensors. In a nested model, names decide if each layer is named and gets as many tensors of its shapes as
  /// it has weights. Otherwise the order decides: trained weights first, as Keras saves them, or layer by layer, as
  /// Keras does if nothing is trained.
  [[nodiscard]] indices match(std::vector<placed_tensor> const& tensors) const {
    if (layers_.size() > 1) return match_models(tensors, true);
    auto const cells = by_cells(tensors);
    return cells ? *cells : in_order(false, tensors.size());
  }
  /// Matches a file that is one list of all tensors: the order decides only if no layer is named.
  [[nodiscard]] indices match_list(std::vector<placed_tensor> const& tensors) const {
    return match_models(tensors, false);
  }

 private:
  [[nodiscard]] static std::string_view last_part(std::string_view path) { return path.substr(path.rfind('/') + 1); }
  [[nodiscard]] std::string_view layer(std::size_t index) const { return own_[layers_[index].front()]->layer; }

  [[nodiscard]] indices match_models(std::vector<placed_tensor> const& tensors, bool order_counts) const {
    auto const named = by_names(tensors);
    if (fits(named, tensors)) return named;
    bool const is_named = std::any_of(named.begin(), named.end(), [](auto index) { return index != none; });
    if (is_named && !order_counts) return named;
    auto const by_order = in_order(true, tensors.size());
    if (fits(by_order, tensors)) return by_order;
    if (auto const by_layer = in_order(false, tensors.size()); fits(by_layer, tensors)) return by_layer;
    return is_named ? named : by_order;
  }

  [[nodiscard]] bool fits(indices const& to, std::vector<placed_tensor> const& tensors) const {
    if (to.size() != own_.size()) return false;
    for (std::size_t i = 0; i < to.size(); ++i)
      if (to[i] == none || !std::equal(tensors[i].shape.begin(), tensors[i].shape.end(), own_[to[i]]->shape.begin(),
                                       own_[to[i]]->shape.end()))
        return false;
    return true;
  }

  [[nodiscard]] indices in_order(bool trained_first, std::size_t count) const {
    indices order;
    for (bool const first : {true, false})
      for (std::size_t i = 0; i < own_.size(); ++i)
        if ((!trained_first || own_[i]->trainable) == first) order.push_back(i);
    order.resize(count, none);
    return order;
  }

  /// Finds the weights of a layer's cells: those of each cell have the order of its tensors.
  [[nodiscard]] std::optional<indices> by_cells(std::vector<placed_tensor> const& tensors) const {
    indices to;
    std::vector<bool> taken(own_.size());
    for (auto const& tensor : tensors) {
      if (!tensor.name.starts_with(stacked_cells)) return std::nullopt;
      auto const cell = tensor.name.substr(stacked_cells.size());
      auto& found = to.emplace_back(none);
      for (std::size_t i = 0; i < own_.size() && found == none; ++i) {
        auto const name =
            std::string_view(own_[i]->path).substr(std::min(own_[i]->path.size(), own_[i]->layer.size() + 1));
        if (!taken[i] && name.substr(0, name.rfind('/') + 1) == cell) found = i, taken[i] = true;
      }
    }
    return to;
  }

  [[nodiscard]] indices by_names(std::vector<placed_tensor> const& tensors) const {
    std::vector<std::size_t> taken(layers_.size());
    indices to;
    for (auto const& tensor : tensors) {
      auto const found = layer_of(tensor.name, taken);
      to.push_back(found ? layers_[*found][taken[*found]++] : none);
    }
    return to;
  }

  /// The layer that a tensor's name names last. If layers of different models share the name, the layer with more of
  /// its models' names before it; if still equal, the first with room.
  [[nodiscard]] std::optional<std::size_t> layer_of(std::string_view tensor,
                                                    std::vector<std::size_t> const& taken) const {
    for (auto end = tensor.rfind('/'); end != std::string_view::npos && end > 0; end = tensor.rfind('/', end - 1)) {
      auto const scope = tensor.substr(0, end);
      auto const known = by_name_.find(last_part(scope));
      if (known == by_name_.end()) continue;
      std::optional<std::size_t> best;
      std::size_t most = 0;
      for (auto const each : known->second) {
        if (taken[each] == layers_[each].size()) continue;
        auto const alike = common_parts(scope, layer(each));
        if (!best || alike > most) best = each, most = alike;
      }
      return best;
    }
    return std::nullopt;
  }
  /// Number of trailing parts that two paths share.
  [[nodiscard]] static std::size_t common_parts(std::string_view a, std::string_view b) {
    std::size_t count = 0;
    while (last_part(a) == last_part(b)) {
      ++count;
      auto const slash_a = a.rfind('/'), slash_b = b.rfind('/');
      if (slash_a == std::string_view::npos || slash_b == std::string_view::npos) break;
      a = a.substr(0, slash_a), b = b.substr(0, slash_b);
    }
    return count;
  }

  std::vector<weight_place const*> own_;
  std::vector<indices> layers_;
  std::map<std::string_view, indices> by_name_;
};

/// Renames the tensors of such a file as a model's weights. A tensor without a counterpart keeps a name that says its
/// place.
inline void name_keras_weights(tensor_file& file, std::vector<weight_place> const& places) {
  if (file.find_metadata(keras_positions) == nullptr) return;
  std::map<std::string, std::vector<stored_tensor*>> groups;
  for (auto& tensor : file.tensors) {
    auto const line = tensor.name.find('\n');
    if (line == std::string::npos) continue;
    groups[tensor.name.substr(0, line)].push_back(&tensor);
    tensor.name.erase(0, line + 1);
  }
  std::map<std::string_view, std::vector<weight_place const*>> by_outer, by_layer;
  for (auto const& place : places) {
    by_outer[place.outer].push_back(&place);
    by_layer[place.layer].push_back(&place);
  }
  for (auto& [name, tensors] : groups) {
    std::vector<weight_place const*> own;
    if (auto const outer = by_outer.find(name); outer != by_outer.end())
      own = outer->second;
    else if (auto const layer = by_layer.find(name); layer != by_layer.end())
      own = layer->second;
    else  // a model inside a nested model
      for (auto const& place : places)
        if (place.layer.starts_with(name + "/")) own.push_back(&place);
    std::vector<placed_tensor> placed;
    for (auto const* tensor : tensors) placed.push_back({tensor->name, tensor->shape});
    auto const to = keras_group(own).match(placed);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      auto& each = tensors[i]->name;
      each = to[i] != keras_group::none ? own[to[i]]->path : name + "/" + (each.empty() ? std::to_string(i) : each);
    }
  }
}

}  // namespace stagecraft::io
