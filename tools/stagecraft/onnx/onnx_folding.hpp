// SPDX-License-Identifier: BSD-3-Clause
// Parts of the folding of constants: arrays that are cut, joined and reduced along axes.
#pragma once

#include "onnx_constants.hpp"

#include <cmath>
#include <optional>
#include <vector>

namespace stagecraft::tool {

using inputs_list = std::vector<std::optional<onnx_constant>>;
using integers = std::vector<std::int64_t>;

/// The most elements of an array that nodes make; larger ones are weights.
inline constexpr std::int64_t largest_made = 1 << 16;

/// True for the number of samples, and for a multiple of it.
[[nodiscard]] inline bool is_of_samples(double value) { return value <= -1e15 && value > -1e25; }

/// True for the number of samples times a whole number, exact or rounded to float32.
[[nodiscard]] inline bool counts_samples(double value) {
  double const times = value / batch_marker, nearest = std::round(times);
  return nearest >= 1 && nearest <= 1 << 20 && std::abs(times - nearest) <= 1e-7 * nearest;
}

/// Returns the number of elements of a shape; -1 if it is too large.
[[nodiscard]] std::int64_t count_of(integers const& shape);

/// The result's shape of a Reshape.
[[nodiscard]] std::optional<integers> shape_for(integers wanted, integers const& from);
[[nodiscard]] std::optional<onnx_constant> sliced(onnx_constant from, inputs_list const& inputs);
[[nodiscard]] std::optional<onnx_constant> gathered(onnx_constant const& from, onnx_constant const& indices,
                                                    std::int64_t axis);
/// Removes or inserts axes of length one, as Squeeze and Unsqueeze do; only the shape changes.
[[nodiscard]] std::optional<onnx_constant> with_unit_axes(onnx_constant from, integers axes, bool adds);
[[nodiscard]] std::optional<onnx_constant> joined(inputs_list const& inputs, std::int64_t axis);
/// The axis of a node's result whose one row stands for those of all samples; -1: there is none. Returns nothing where
/// the result depends on their number.
[[nodiscard]] std::optional<int> samples_axis_of(onnx_node const& node, inputs_list const& inputs,
                                                 onnx_constant const& result);
/// The numbers that a DequantizeLinear node makes of constants.
[[nodiscard]] std::optional<onnx_constant> dequantized(onnx_node const& node, inputs_list const& inputs);
/// A window of ONNX's for a signal of known length: HannWindow, HammingWindow, BlackmanWindow.
[[nodiscard]] std::optional<onnx_constant> window_of(onnx_node const& node, onnx_constant const& size);
/// Sums, products, means, largest and smallest numbers along axes.
[[nodiscard]] std::optional<onnx_constant> reduced(onnx_node const& node, onnx_constant from,
                                                   std::optional<onnx_constant> const& given);

}  // namespace stagecraft::tool
