// SPDX-License-Identifier: BSD-3-Clause
// Constants of an ONNX graph, and their evaluation by nodes: files compute shapes with nodes of their own.
#pragma once

#include "onnx_file.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace stagecraft::tool {

/// Placeholder in a shape for the unknown number of samples.
inline constexpr double batch_marker = -7e15;

/// An array whose values are known when the model is read. Whole numbers are exact up to 2^53.
struct onnx_constant {
  std::vector<std::int64_t> shape;
  std::vector<double> values;
  bool is_whole = false;
  bool is_double = false;  ///< the file has float64; other numbers with a fraction are of float32
  int samples_axis = -1;   ///< the axis whose one row stands for those of all samples; -1: there is none

  [[nodiscard]] std::vector<std::int64_t> integers() const;
};

/// A double as an integer, clamped to the integer's range; 0 for NaN.
[[nodiscard]] std::int64_t whole(double value);

/// The array with its axes in another order: axis i of the result is axis order[i].
[[nodiscard]] onnx_constant transposed(onnx_constant const& from, std::vector<int> const& order);

/// A tensor of the file.
[[nodiscard]] onnx_constant constant_of(stored_tensor const& from);

/// The result of a node for constants; none if it cannot be computed here. Nodes make small arrays only: larger ones
/// are weights.
[[nodiscard]] std::optional<onnx_constant> folded(onnx_node const& node,
                                                  std::vector<std::optional<onnx_constant>> const& inputs);

/// Returns the number of elements of a Constant node's tensor.
[[nodiscard]] std::size_t elements_of(onnx_node const& constant);

/// Returns the lengths that a Shape node selects: since opset 15 it has "start" and "end".
[[nodiscard]] onnx_constant asked_for(onnx_node const& node, onnx_constant lengths);

/// The constants of a graph, by their names.
class onnx_constants {
 public:
  explicit onnx_constants(onnx_graph const& graph);

  [[nodiscard]] bool contains(std::string const& name) const { return stored_.contains(name) || made_.contains(name); }
  /// Returns the number of elements.
  [[nodiscard]] std::size_t size(std::string const& name) const;
  [[nodiscard]] std::optional<onnx_constant> find(std::string const& name) const;
  void set(std::string const& name, onnx_constant value) { made_.insert_or_assign(name, std::move(value)); }

  /// Takes the constants of a graph inside of this one, which must live on.
  void add(onnx_graph const& graph);
  /// Computes a node whose inputs are all constants. Returns true if that was possible.
  bool fold(onnx_node const& node);

 private:
  [[nodiscard]] std::optional<onnx_constant> result_of(onnx_node const& node) const;

  std::map<std::string, stored_tensor const*> stored_;
  std::map<std::string, onnx_constant> made_;
  std::size_t budget_ = 1 << 22;  ///< elements that nodes may still make: at first a multiple of the file's elements
  std::size_t largest_read_ = 0;  ///< elements that one node may take
};

}  // namespace stagecraft::tool
