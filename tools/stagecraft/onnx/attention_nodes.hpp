// SPDX-License-Identifier: BSD-3-Clause
// Steps of attention of several heads. Each function says whether it has taken the node.
#pragma once

#include "onnx_trace.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stagecraft::tool {

/// True if a length is a multiple of the number of samples, as a constant of the file or computed by its nodes.
[[nodiscard]] bool is_of_samples(onnx_trace const& of, std::int64_t length, std::int64_t times);
/// A product of two tensors: of queries and keys, or of probabilities and values.
[[nodiscard]] bool take_attention_product(onnx_trace& to, onnx_node const& node);
/// A sum of scores and a constant. Throws unsupported for a mask that is not causal.
[[nodiscard]] bool take_attention_mask(onnx_trace& to, onnx_node const& node, traced_tensor const& x,
                                       onnx_constant const& mask);
/// A choice between scores and a number without end: a causal mask. Throws unsupported for others.
void choose_attention(onnx_trace& to, onnx_node const& node);
/// Probabilities of scores.
[[nodiscard]] bool take_attention_softmax(onnx_trace& to, onnx_node const& node, traced_tensor const& x);
/// The heads' outputs, concatenated.
[[nodiscard]] bool take_attention_heads(onnx_trace& to, onnx_node const& node, traced_tensor const& x,
                                        std::vector<std::int64_t> const& wanted);
/// The dense layer that ends it, which makes the layer.
[[nodiscard]] bool take_attention_output(onnx_trace& to, traced_tensor const& x, onnx_constant const& kernel,
                                         std::optional<onnx_constant> const& bias, std::string const& name,
                                         onnx_node const& giver);
/// True if the node is a step of attention that no layer was made of.
[[nodiscard]] bool is_held(traced_layer const& layer);

}  // namespace stagecraft::tool
