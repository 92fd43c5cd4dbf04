// SPDX-License-Identifier: BSD-3-Clause
// Weights whose norms have limits on both sides.
// Keras counterpart: tf.keras.constraints.MinMaxNorm.
#pragma once

#include <stagecraft/constraints/norm_axes.hpp>
#include <concepts>
#include <string_view>

namespace stagecraft::constraints {

namespace detail {

struct min_max_norm {
  static constexpr std::string_view name = "min_max_norm";
  float min_value, max_value, rate;
  norm_axes axis;
  constexpr auto call(auto& ops, auto weight) const {
    auto const norm = axis.norms(ops, weight);
    auto const wanted = maximum(minimum(norm, max_value), min_value) * rate + norm * (1 - rate);
    return weight * (wanted / (norm + norm_epsilon));
  }
};

}  // namespace detail

/// weight * wanted / (epsilon + norm), where wanted = rate * clip(norm, min_value, max_value) + (1 - rate) * norm and
/// epsilon = 1e-7.
struct min_max_norm {
  /// The smallest norm.
  float min_value = 0;
  /// The largest norm.
  float max_value = 1;
  /// How far norms come towards the limits in one update: 1 all the way, 0 not at all.
  float rate = 1;
  /// The axes that a norm runs along. 0 for a dense kernel (inputs, units), so that each unit has a norm;
  /// {0, 1, 2} for the kernel of a convolution (rows, columns, channels, filters).
  axis_list axis = 0;

  template <std::same_as<constraint> Constraint>
  constexpr operator Constraint() const {  // NOLINT(google-explicit-constructor): used as an option of layers
    return stagecraft::detail::option_of_own<Constraint>(detail::min_max_norm{min_value, max_value, rate, axis});
  }
};

}  // namespace stagecraft::constraints
