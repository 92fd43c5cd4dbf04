// SPDX-License-Identifier: BSD-3-Clause
// What conversions of whole numbers of 8 bits share.
#pragma once

#include "made_nodes.hpp"

#include <optional>
#include <string>

namespace stagecraft::tool {

/// The name of an input; empty: it is left out.
[[nodiscard]] std::string const& name_of(onnx_node const& node, std::size_t input);
/// The numbers of an input as floats.
[[nodiscard]] std::string as_real(node_maker const& make, std::string const& name);
/// True if an input is a constant of zeros, or left out.
[[nodiscard]] bool is_zero(onnx_trace& to, onnx_node const& node, std::size_t input);
/// A constant of one axis along `axis` of `rank` axes, which numbers beside it are broadcast with.
[[nodiscard]] onnx_constant along(onnx_constant of, std::int64_t axis, int rank);
/// The number of a tensor's axes in the graph.
[[nodiscard]] int rank_of(onnx_trace& to, std::string const& name);
/// y = saturated(round(x factor) + zero), or x / scale in place of x factor, of a type of 8 or 16 bits.
void set_quantized(onnx_trace& to, onnx_node const& node, std::string const& x, onnx_constant scale, bool divides,
                   std::optional<onnx_constant> zero, std::string const& dynamic_scale = "",
                   std::string const& dynamic_zero = "");

/// Converters of products of whole numbers.
void add_whole_products(std::map<std::string, onnx_converter>& to);

}  // namespace stagecraft::tool
