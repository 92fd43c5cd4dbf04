// SPDX-License-Identifier: BSD-3-Clause
// Filters whose values depend on the distance from their middle alone.
// Keras counterpart: tf.keras.constraints.RadialConstraint.
#pragma once

#include <stagecraft/constraints/own_constraint.hpp>
#include <concepts>
#include <string_view>

namespace stagecraft::constraints {

/// Squares around the middle of a filter get one value each, that at the lower end of its diagonal: of a square of the
/// size n x n, n/2 + i along both axes for the i-th square. As in Keras, the middle of filters of odd size gets the
/// value before it, at n/2 - 1. For filters (rows, columns, channels, filters) with as many rows as columns (E1070).
struct radial_constraint {
  static constexpr std::string_view name = "radial_constraint";

  constexpr auto call(auto& ops, auto weight) const {
    if (weight.rank() != 4 || weight.length(0) != weight.length(1)) {
      ops.list().fail("a radial constraint is for weights of shape (n, n, channels, filters), found ", weight.shape());
      return weight;
    }
    int const size = weight.length(0), middle = size / 2, is_odd = size % 2;
    auto const row = ops.iota({size, size, 1, 1}, 0), column = ops.iota({size, size, 1, 1}, 1);
    auto const twice = static_cast<float>(size - 1);
    auto const distance = maximum(abs(row * 2.0F - twice), abs(column * 2.0F - twice));
    auto const at = [&](int place) {
      auto const here = static_cast<float>(place);
      return ops.sum(weight * (equal(row, here) * equal(column, here)), {0, 1});
    };
    auto result = where(distance < 0.0F, weight, at(middle > 0 ? middle - 1 : 0));  // of the whole shape
    for (int i = 1 - is_odd; i < middle; ++i)
      result = where(equal(distance, static_cast<float>(2 * i + 1 + is_odd)), at(middle + i), result);
    return result;
  }
  template <std::same_as<constraint> Constraint>
  constexpr operator Constraint() const {  // NOLINT(google-explicit-constructor): used as an option of layers
    return stagecraft::detail::option_of_own<Constraint>(*this);
  }
};

}  // namespace stagecraft::constraints
