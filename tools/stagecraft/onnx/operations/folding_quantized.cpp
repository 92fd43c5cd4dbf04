// SPDX-License-Identifier: BSD-3-Clause
// Folds constants of 8 bits and the like into the numbers that they stand for.
#include "onnx/onnx_folding.hpp"

#include <algorithm>

namespace stagecraft::tool {

std::optional<onnx_constant> dequantized(onnx_node const& node, inputs_list const& inputs) {
  if (inputs.size() < 2 || !inputs[0] || !inputs[1] || node.integer("block_size", 0) != 0) return std::nullopt;
  auto result = *inputs[0];
  auto const& scale = *inputs[1];
  auto const& zero = inputs.size() > 2 ? inputs[2] : std::nullopt;
  auto const rank = static_cast<std::int64_t>(result.shape.size());
  auto axis = node.integer("axis", 1);
  if (axis < 0) axis += rank;
  std::size_t inner = 1, length = 1;
  if (scale.values.size() != 1) {
    if (axis < 0 || axis >= rank || scale.shape.size() != 1) return std::nullopt;
    length = static_cast<std::size_t>(result.shape[static_cast<std::size_t>(axis)]);
    for (auto i = static_cast<std::size_t>(axis) + 1; i < result.shape.size(); ++i)
      inner *= static_cast<std::size_t>(result.shape[i]);
    if (scale.values.size() != length) return std::nullopt;
  }
  if (scale.values.empty() || (zero && zero->values.size() != scale.values.size())) return std::nullopt;
  for (std::size_t i = 0; i < result.values.size(); ++i) {
    auto const place = i / inner % length;
    auto const difference = static_cast<float>(result.values[i] - (zero ? zero->values[place] : 0));
    result.values[i] = static_cast<double>(difference * static_cast<float>(scale.values[place]));
  }
  result.is_whole = false;
  return result;
}

}  // namespace stagecraft::tool
