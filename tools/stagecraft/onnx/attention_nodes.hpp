// SPDX-License-Identifier: BSD-3-Clause
// Reads the steps of attention of several heads. Each function returns true if it has taken the node.
#pragma once

#include "onnx_trace.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stagecraft::tool {

/// True if a length, a constant of the file or computed by its nodes, is `times` times the number of samples.
[[nodiscard]] bool is_of_samples(onnx_trace const& of, std::int64_t length, std::int64_t times);
/// Takes a product of two tensors: of queries and keys, or of probabilities and values.
[[nodiscard]] bool take_attention_product(onnx_trace& to, onnx_node const& node);
/// Takes a sum of scores and a constant. Throws unsupported for a mask that is not causal.
[[nodiscard]] bool take_attention_mask(onnx_trace& to, onnx_node const& node, traced_tensor const& x,
                                       onnx_constant const& mask);
/// Takes a choice between scores and -infinity as a causal mask. Throws unsupported for others.
void choose_attention(onnx_trace& to, onnx_node const& node);
/// Takes the softmax of scores.
[[nodiscard]] bool take_attention_softmax(onnx_trace& to, onnx_node const& node, traced_tensor const& x);
/// Takes the concatenation of the heads' outputs.
[[nodiscard]] bool take_attention_heads(onnx_trace& to, onnx_node const& node, traced_tensor const& x,
                                        std::vector<std::int64_t> const& wanted);
/// Takes the dense layer that ends the attention, and makes the layer.
[[nodiscard]] bool take_attention_output(onnx_trace& to, traced_tensor const& x, onnx_constant const& kernel,
                                         std::optional<onnx_constant> const& bias, std::string const& name,
                                         onnx_node const& giver);
/// True for a step of attention that no layer has been made of.
[[nodiscard]] bool is_held(traced_layer const& layer);

}  // namespace stagecraft::tool
