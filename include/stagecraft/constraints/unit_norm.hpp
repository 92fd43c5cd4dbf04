// SPDX-License-Identifier: BSD-3-Clause
// Weights whose norms are 1.
// Keras counterpart: tf.keras.constraints.UnitNorm.
#pragma once

#include <stagecraft/constraints/norm_axes.hpp>
#include <concepts>
#include <string_view>

namespace stagecraft::constraints {

namespace detail {

struct unit_norm {
  static constexpr std::string_view name = "unit_norm";
  norm_axes axis;
  constexpr auto call(auto& ops, auto weight) const { return weight / (axis.norms(ops, weight) + norm_epsilon); }
};

}  // namespace detail

/// weight / (epsilon + norm), with epsilon = 1e-7.
struct unit_norm {
  /// The axes that a norm runs along. 0 for a dense kernel (inputs, units), so that each unit has a norm;
  /// {0, 1, 2} for the kernel of a convolution (rows, columns, channels, filters).
  axis_list axis = 0;

  template <std::same_as<constraint> Constraint>
  constexpr operator Constraint() const {  // NOLINT(google-explicit-constructor): used as an option of layers
    return stagecraft::detail::option_of_own<Constraint>(detail::unit_norm{axis});
  }
};

}  // namespace stagecraft::constraints
