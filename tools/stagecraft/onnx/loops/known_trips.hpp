// SPDX-License-Identifier: BSD-3-Clause
// What is known of a loop before data are.
#pragma once

#include "onnx/onnx_folding.hpp"
#include "onnx/onnx_trace.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace stagecraft::tool {

/// The most trips of a scan.
inline constexpr std::int64_t most_rolled = 1 << 16;

/// What follows of a loop's trips from their number alone: when they end, the values of some states, and the places
/// that are read.
class known_trips {
 public:
  /// `states`: the names of the first values. Throws unsupported for more than 65,536 trips.
  known_trips(onnx_trace const& to, onnx_graph body, std::vector<std::string> const& states, std::int64_t most,
              bool goes_on)
      : to_(to), body_(std::move(body)) {
    body_.opset = to.graph().opset;
    upgrade_nodes(body_);
    for (auto const& each : body_.constants) constants_.emplace(each.name, constant_of(each));
    for (auto const& each : states) {
      auto value = to.constants().find(each);
      is_known_.push_back(value && value->is_whole && value->values.size() <= 64 &&
                          std::none_of(value->values.begin(), value->values.end(), is_of_samples));
      if (is_known_.back()) now_[body_.inputs[is_known_.size() + 1].name] = std::move(*value);
    }
    find_known();
    if (!known_.contains(body_.outputs[0].name) && !is_constant(body_.outputs[0].name)) return;
    auto const order = needed_nodes();
    for (; goes_on && trips_ < most; ++trips_) {
      if (trips_ == most_rolled) throw unsupported("makes more than 65,536 trips");
      now_[body_.inputs[0].name] = {{}, {static_cast<double>(trips_)}, true};
      now_[body_.inputs[1].name] = {{}, {1}, true};
      for (std::size_t i = 0; i < is_known_.size(); ++i)
        if (is_known_[i]) add_row(body_.inputs[i + 2].name);
      for (auto const* const node : order)
        if (!compute(*node) || work_ > most_work) return;
      for (auto const& each : places_) add_row(each);
      std::map<std::string, onnx_constant> next;
      for (std::size_t i = 0; i < is_known_.size(); ++i)
        if (is_known_[i]) {
          auto& value = next[body_.inputs[i + 2].name] = *find(body_.outputs[i + 1].name);
          // A value that would wrap is not computed here.
          auto const range = range_of_type(to.type_of(states[i]));
          for (double const number : value.values)
            if (number < range.least || number > range.most) return;
        }
      auto const condition = *find(body_.outputs[0].name);
      if (condition.values.size() != 1) throw unsupported("has a condition of several numbers");
      goes_on = condition.values[0] != 0;
      for (auto& [name, value] : next) now_[name] = std::move(value);
    }
    is_counted_ = true;
  }

  [[nodiscard]] bool is_counted() const { return is_counted_; }
  [[nodiscard]] std::int64_t trips() const { return trips_; }
  [[nodiscard]] bool is_known(std::size_t state) const { return is_known_[state]; }
  /// The value of a known state after the last trip.
  [[nodiscard]] onnx_constant const& last(std::size_t state) const { return now_.at(body_.inputs[state + 2].name); }
  /// The values of an input or a place, one for each trip; none if their shapes differ.
  [[nodiscard]] std::optional<onnx_constant> table(std::string const& name) const {
    auto const found = rows_.find(name);
    if (found == rows_.end()) return std::nullopt;
    onnx_constant all{{static_cast<std::int64_t>(found->second.size())}, {}, true};
    auto const& shape = found->second.at(0).shape;
    all.shape.insert(all.shape.end(), shape.begin(), shape.end());
    for (auto const& each : found->second) {
      if (each.shape != shape) return std::nullopt;
      all.values.insert(all.values.end(), each.values.begin(), each.values.end());
    }
    return all;
  }
  /// The place that a Gather reads of a tensor from outside, where it is known.
  [[nodiscard]] bool reads_known_place(onnx_node const& node) const {
    return node.type == "Gather" && node.domain.empty() && node.inputs.size() >= 2 && !own_.contains(node.inputs[0]) &&
           !is_constant(node.inputs[0]) && known_.contains(node.inputs[1]);
  }

 private:
  [[nodiscard]] bool is_constant(std::string const& name) const {
    return constants_.contains(name) || (!own_.contains(name) && to_.constants().contains(name));
  }
  [[nodiscard]] std::optional<onnx_constant> find(std::string const& name) const {
    if (auto const found = now_.find(name); found != now_.end()) return found->second;
    if (auto const found = constants_.find(name); found != constants_.end()) return found->second;
    return own_.contains(name) ? std::nullopt : to_.constants().find(name);
  }
  /// Finds the names that are known in each trip: fewer states are known if one follows from what is not.
  void find_known() {
    for (auto const& each : body_.inputs) own_.insert(each.name);
    for (auto const& node : body_.nodes) own_.insert(node.outputs.begin(), node.outputs.end());
    for (bool is_changed = true; is_changed;) {
      known_ = {body_.inputs[0].name, body_.inputs[1].name};
      is_changed = false;
      for (std::size_t i = 0; i < is_known_.size(); ++i)
        if (is_known_[i]) known_.insert(body_.inputs[i + 2].name);
      for (auto const& node : body_.nodes) {
        auto const has_graph = [](auto const& each) { return each.second.graph != nullptr; };
        bool is_known = node.domain.empty() && node.outputs.size() == 1 &&
                        std::none_of(node.attributes.begin(), node.attributes.end(), has_graph);
        for (auto const& each : node.inputs)
          is_known = is_known && (each.empty() || known_.contains(each) || is_constant(each));
        if (is_known) known_.insert(node.outputs[0]);
      }
      for (std::size_t i = 0; i < is_known_.size(); ++i) {
        auto const& next = body_.outputs[i + 1].name;
        if (!is_known_[i] || known_.contains(next) || is_constant(next)) continue;
        is_known_[i] = false, is_changed = true;
        now_.erase(body_.inputs[i + 2].name);
      }
    }
    for (auto const& node : body_.nodes)
      if (reads_known_place(node)) places_.insert(node.inputs[1]);
  }
  /// The nodes that the condition, the known states and the places follow from, in their order.
  [[nodiscard]] std::vector<onnx_node const*> needed_nodes() const {
    std::set<std::string> needed(places_.begin(), places_.end());
    needed.insert(body_.outputs[0].name);
    for (std::size_t i = 0; i < is_known_.size(); ++i)
      if (is_known_[i]) needed.insert(body_.outputs[i + 1].name);
    std::vector<onnx_node const*> order;
    for (auto node = body_.nodes.rbegin(); node != body_.nodes.rend(); ++node) {
      if (node->outputs.empty() || !needed.contains(node->outputs[0])) continue;
      order.push_back(&*node);
      needed.insert(node->inputs.begin(), node->inputs.end());
    }
    std::reverse(order.begin(), order.end());
    return order;
  }
  bool compute(onnx_node const& node) {
    std::vector<std::optional<onnx_constant>> inputs;
    for (auto const& each : node.inputs) {
      inputs.push_back(each.empty() ? std::nullopt : find(each));
      if (inputs.back()) work_ += 16 + inputs.back()->values.size();
    }
    auto result = folded(node, inputs);
    if (!result || result->values.size() > 64) return false;
    now_[node.outputs[0]] = std::move(*result);
    return true;
  }
  void add_row(std::string const& name) {
    rows_[name].push_back(*find(name));
    work_ += 16 + rows_[name].back().values.size();
  }

  onnx_trace const& to_;
  onnx_graph body_;
  std::map<std::string, onnx_constant> constants_, now_;
  std::set<std::string> own_, known_, places_;
  std::vector<bool> is_known_;  ///< for each state
  std::map<std::string, std::vector<onnx_constant>> rows_;
  std::size_t work_ = 0;  ///< numbers that were read and kept, and some for each value
  static constexpr std::size_t most_work = 1 << 26;
  std::int64_t trips_ = 0;
  bool is_counted_ = false;
};

}  // namespace stagecraft::tool
