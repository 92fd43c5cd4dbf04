// SPDX-License-Identifier: BSD-3-Clause
// Weights whose norms have a limit.
// Keras counterpart: tf.keras.constraints.MaxNorm.
#pragma once

#include <stagecraft/constraints/norm_axes.hpp>
#include <concepts>
#include <string_view>

namespace stagecraft::constraints {

namespace detail {

struct max_norm {
  static constexpr std::string_view name = "max_norm";
  float max_value;
  norm_axes axis;
  constexpr auto call(auto& ops, auto weight) const {
    auto const norm = axis.norms(ops, weight);
    return weight * (minimum(norm, max_value) / (norm + norm_epsilon));
  }
};

}  // namespace detail

/// weight * min(norm, max_value) / (epsilon + norm), with epsilon = 1e-7.
struct max_norm {
  /// The largest norm.
  float max_value = 2;
  /// The axes that a norm runs along. 0 for a dense kernel (inputs, units), so that each unit has a norm;
  /// {0, 1, 2} for the kernel of a convolution (rows, columns, channels, filters).
  axis_list axis = 0;

  template <std::same_as<constraint> Constraint>
  constexpr operator Constraint() const {  // NOLINT(google-explicit-constructor): used as an option of layers
    return stagecraft::detail::option_of_own<Constraint>(detail::max_norm{max_value, axis});
  }
};

}  // namespace stagecraft::constraints
