// SPDX-License-Identifier: BSD-3-Clause
// Weights that are not negative.
// Keras counterpart: tf.keras.constraints.NonNeg.
#pragma once

#include <stagecraft/constraints/own_constraint.hpp>
#include <concepts>
#include <string_view>

namespace stagecraft::constraints {

/// weight where it is at least 0, else 0.
struct non_neg {
  static constexpr std::string_view name = "non_neg";

  constexpr auto call(auto& /*ops*/, auto weight) const { return weight * (weight >= 0.0F); }
  template <std::same_as<constraint> Constraint>
  constexpr operator Constraint() const {  // NOLINT(google-explicit-constructor): used as an option of layers
    return stagecraft::detail::option_of_own<Constraint>(*this);
  }
};

}  // namespace stagecraft::constraints
