// SPDX-License-Identifier: BSD-3-Clause
// Functions that converters of nodes to operations share.
#pragma once

#include "onnx/onnx_trace.hpp"

#include <string>
#include <vector>

namespace stagecraft::tool {

/// C++ code for a number of a file. Throws unsupported for NaN.
[[nodiscard]] source_text float_text(double number);

/// The number without its fraction.
[[nodiscard]] source_text truncated(source_text const& x);

/// The text of whole numbers, separated by ", ".
[[nodiscard]] source_text list_text(std::vector<int> const& numbers);

/// Code for the shape of a tensor's samples, with the number of samples of `of` in front: `{x.length(0), 3, 4}`.
[[nodiscard]] source_text shape_text(source_text const& of, std::vector<int> const& lengths);

/// The name of a weight that was a constant of the file: the last part of the constant's name, unless that is a number.
[[nodiscard]] std::string constant_name(std::string const& name);

/// A converter that tries the first one, and the second one if the first cannot convert the node.
[[nodiscard]] onnx_converter either(onnx_converter first, onnx_converter second);

/// The operands of an operation on whole numbers that may be numbers in the code, if they are constants of one number.
enum class number_operands : unsigned char { none, second, any };

/// The way in which an operation on int32 takes its operands.
struct word_operands {
  number_operands numbers = number_operands::none;
  bool has_condition = false;  ///< the first operand is one of truth values, which are floats
  bool gives_words = true;     ///< its result is of int32, else of float32
};

/// Converts an operation on each number of a node's inputs, which are broadcast: `code` takes them in their order, and
/// constants of one number as numbers. Returns the tensor; the caller sets it as the output. With `words`, operands are
/// converted to int32.
[[nodiscard]] traced_tensor broadcast_operation(onnx_trace& to, onnx_node const& node, std::size_t inputs,
                                                own_text word, operation_code const& code,
                                                std::optional<word_operands> const& words = {});

/// Converts an operation on each number of a tensor.
[[nodiscard]] traced_tensor each_number(onnx_trace& to, traced_tensor const& x, own_text word, operation_code code);

/// A complete tensor without some of the graph's axes, whose lengths are 1.
[[nodiscard]] traced_tensor without_axes(onnx_trace& to, traced_tensor const& x, std::vector<int> const& axes);

/// A constant with its axes in the order of a complete tensor's own. Throws unsupported if it differs from sample to
/// sample.
[[nodiscard]] onnx_constant in_own_order(onnx_constant const& constant, std::vector<int> const& order);

/// A tensor that was computed from a complete one and has the same axes.
[[nodiscard]] traced_tensor like(traced_tensor const& x, traced_tensor const& made);

/// Puts new axes of length 1 before a tensor's axes in the graph.
void move_axes(traced_tensor& x, int by);

/// The place of one of the graph's axes in a complete tensor's own. Throws unsupported if it is that of samples.
[[nodiscard]] int place_in_sample(traced_tensor const& x, std::int64_t axis);

}  // namespace stagecraft::tool
