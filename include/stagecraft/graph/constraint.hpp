// SPDX-License-Identifier: BSD-3-Clause
// What a weight becomes after each update, as a compile-time value; the structs of constraints/ convert to it.
// Keras counterpart: tf.keras.constraints.Constraint.
#pragma once

#include <stagecraft/diagnostics/own_options.hpp>
#include <string_view>

namespace stagecraft {

namespace operations {
struct tensor;
class tracer;
}  // namespace operations

/// Any constraint, or none.
struct constraint {
  using own_call = operations::tensor(operations::tracer&, operations::tensor);
  static constexpr std::string_view own_name = "constraint";
  static constexpr std::string_view own_usage = "constexpr auto call(auto& ops, auto weight) const";

  diagnostics::own_rules<own_call> const* rules = nullptr;
  diagnostics::own_options options = {};

  friend constexpr bool operator==(constraint const&, constraint const&) = default;

  /// True if a weight stays what its update made of it.
  [[nodiscard]] constexpr bool empty() const { return rules == nullptr; }
};

}  // namespace stagecraft
