// SPDX-License-Identifier: BSD-3-Clause
// Exports a model's layers as ONNX's nodes.
#pragma once

#include "onnx/onnx_constants.hpp"
#include "onnx_builder.hpp"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace stagecraft::tool {

/// One call of a layer that is being exported.
struct exported_call {
  onnx_builder& to;
  model_layer const& layer;
  std::string path;  ///< the layer's path, with the models that it is in
  std::vector<onnx_output> inputs;
  std::vector<int> lengths;  ///< shape of the output, without the batch

  [[nodiscard]] json const& config() const { return layer.config; }
  /// An option, or its default if it is missing or null.
  template <class T>
  [[nodiscard]] T option(char const* name, T by_default) const {
    return value_in(layer.config, name, by_default);
  }
  template <class T>
  [[nodiscard]] static T value_in(json const& config, char const* name, T by_default) {
    auto const found = config.find(name);
    return found == config.end() || found->is_null() ? by_default : found->get<T>();
  }
  [[nodiscard]] bool has_weight(std::size_t index) const { return index < layer.values.size(); }
  [[nodiscard]] onnx_constant weight(std::size_t index) const;
  /// Adds a weight as a constant, possibly with its axes in another order or in another shape.
  [[nodiscard]] std::string add_weight(std::size_t index) const { return add(weight(index), index); }
  [[nodiscard]] std::string add(onnx_constant const& weight, std::size_t index) const;
  [[nodiscard]] std::string add(onnx_constant const& weight, std::string const& name) const;
  /// The first input with channels last, or the output of a node that reads it alone.
  [[nodiscard]] onnx_output last() const { return to.channels_last(inputs.at(0)); }
  [[nodiscard]] onnx_output result(std::string name, bool channels_first = false) const {
    return {std::move(name), lengths, channels_first};
  }
};

/// Adds an activation of Keras to a tensor. Throws unsupported.
[[nodiscard]] onnx_output with_activation(onnx_builder& to, onnx_output const& x, json const& activation);

using onnx_exporter = std::function<onnx_output(exported_call const&)>;
/// Exporters of layers by Keras's class names.
[[nodiscard]] std::map<std::string, onnx_exporter> const& onnx_exporters();

void add_simple_exporters(std::map<std::string, onnx_exporter>& to);
void add_window_exporters(std::map<std::string, onnx_exporter>& to);
void add_sequence_exporters(std::map<std::string, onnx_exporter>& to);

}  // namespace stagecraft::tool
