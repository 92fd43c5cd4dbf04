// SPDX-License-Identifier: BSD-3-Clause
// Everything that nodes of imported operators may state. A statement of a file that no converter reads is refused here,
// so that nothing is ignored.
#pragma once

#include "onnx_file.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stagecraft::tool {

/// The use of an attribute.
enum class attribute_use : unsigned char {
  read,       ///< a converter reads it
  only,       ///< it must have one value
  no_effect,  ///< it does not change predictions
};

/// An attribute of an operator.
struct attribute_rule {
  std::string_view name;
  onnx_kind kind = onnx_kind::none;
  attribute_use use = attribute_use::read;
  std::int64_t number = 0;     ///< the only value of a whole number
  std::string_view text = {};  ///< the only value as a text
};

/// An operator of ONNX, or of another domain: com.microsoft.Gelu. Attributes that are not named here are refused.
struct operator_rule {
  std::string_view type;
  std::vector<attribute_rule> attributes;
  std::size_t inputs = 1;   ///< inputs that are read; more must be left out
  std::size_t outputs = 1;  ///< outputs that exist here; others must not be used
};

inline constexpr std::size_t any_number = 1 << 20;

/// The imported operators, in alphabetical order.
[[nodiscard]] std::vector<operator_rule> const& operator_table();

/// Returns the rule of an operator, which stands under its domain and its name; null if there is none.
[[nodiscard]] operator_rule const* rule_of(onnx_node const& node);

/// Returns a part of a node that is not read, as the end of a sentence; none if everything is read.
[[nodiscard]] std::optional<std::string> unread_part(onnx_node const& node);

}  // namespace stagecraft::tool
