// SPDX-License-Identifier: BSD-3-Clause
// The inputs, outputs and attributes that nodes of imported TensorFlow operations may have. An attribute that no
// lowering reads is refused here, so that nothing is ignored.
#pragma once

#include "tensorflow/graph_def.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft::tool {

/// The use of an attribute of a TensorFlow operation.
enum class tensorflow_use : unsigned char {
  read,       ///< a lowering reads it
  elements,   ///< the type that the node computes in: numbers of 32 or 64 bits, or truth values
  only,       ///< it must have one value
  no_effect,  ///< it does not change predictions
};

/// An attribute of an operation.
struct tensorflow_attribute_rule {
  std::string_view name;
  tensorflow_kind kind = tensorflow_kind::none;
  tensorflow_use use = tensorflow_use::read;
  std::string_view text = {};  ///< the only value
};

/// An operation of TensorFlow. Attributes that are not named here are refused, except those that begin with an
/// underscore, which are TensorFlow's internal notes.
struct tensorflow_rule {
  std::string_view type;
  std::vector<tensorflow_attribute_rule> attributes;
  std::size_t inputs = 1;                      ///< inputs that are read
  std::vector<std::string_view> outputs = {};  ///< names of the outputs if there are several; functions name them
};

/// The imported operations, in alphabetical order.
[[nodiscard]] std::vector<tensorflow_rule> const& tensorflow_table();

/// Returns the rule of an operation; null if there is none.
[[nodiscard]] tensorflow_rule const* rule_of(tensorflow_node const& node);

/// Returns a part of a node that is not read, as the end of a sentence; none if everything is read.
[[nodiscard]] std::optional<std::string> unread_part(tensorflow_node const& node);

}  // namespace stagecraft::tool
