// SPDX-License-Identifier: BSD-3-Clause
// What a weight becomes after each update, as a compile-time value; the structs of constraints/ convert to it.
// Keras counterpart: tf.keras.constraints.Constraint. Level 1.
#pragma once

#include <stagecraft/diagnostics/own_options.hpp>
#include <string_view>

namespace stagecraft {

namespace operations {
struct tensor;
class tracer;
}  // namespace operations

/// What a constraint says, by its type.
struct constraint_rules {
  std::string_view name;  ///< in errors
  /// Its `call`, with its members.
  operations::tensor (*call)(own_options const&, operations::tracer&, operations::tensor);
};

/// Any constraint, or none.
struct constraint {
  constraint_rules const* rules = nullptr;
  own_options options = {};

  friend constexpr bool operator==(constraint const&, constraint const&) = default;

  /// True if a weight stays what its update made of it.
  [[nodiscard]] constexpr bool empty() const { return rules == nullptr; }
};

}  // namespace stagecraft
