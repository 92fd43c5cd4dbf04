// SPDX-License-Identifier: BSD-3-Clause
// Constraints of a weight after each update: non_neg, limits of norms, and constraints of one's own.
// Keras counterpart: tf.keras.constraints.
#pragma once

#include <stagecraft/graph/parameter.hpp>
#include <stagecraft/graph/shape.hpp>
#include <stagecraft/operations/tracer.hpp>
#include <concepts>
#include <string_view>

namespace stagecraft {

/// Base of a constraint of your own: the weight after each update, in the words of a layer's `call`:
///
///     struct at_most_one : sc::own_constraint<at_most_one> {
///       static constexpr std::string_view name = "at_most_one";
///       constexpr auto call(auto& ops, auto weight) const { return weight / sc::maximum(ops.max(abs(weight),
///       0), 1.0F); }
///     };
///
/// `dense{64, sc::relu, {.kernel_constraint = at_most_one{}}}`. The weight has its whole shape, (inputs, units) of a
/// dense layer, and the result of `call` has the same. Members are options: at most eight floats and ints. Errors:
/// E1070 for tensors that do not fit; E1081 other members; E1082 no `call`; E2064 operations that emulated IPUs do not
/// have for weights.
template <class Derived>
using own_constraint = detail::own_option<Derived, constraint>;

}  // namespace stagecraft

namespace stagecraft::constraints {

/// Weights that are not negative. Keras: tf.keras.constraints.NonNeg.
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

namespace stagecraft::constraints::detail {

/// Axes in one word, as an option of a constraint: four bits for each, and a 1 after the last.
struct norm_axes {
  unsigned code = 1;

  constexpr explicit(false) norm_axes(axis_list const& axes) {
    for (int i = axes.count; i-- > 0;) code = code << 4U | (static_cast<unsigned>(axes.axes[i]) & 15U);
  }
  /// sqrt(sum(weight^2)) along these axes, which stay with length 1.
  constexpr auto norms(auto& ops, auto weight) const {
    auto axes = axis_list::none();
    for (unsigned rest = code; rest > 1; rest >>= 4U) {
      int const axis = static_cast<int>(rest & 15U);
      axes.axes[axes.count++] = axis < 8 ? axis : axis - 16;
    }
    return sqrt(ops.sum(square(weight), axes));
  }
};

/// Keras's backend.epsilon().
inline constexpr float norm_epsilon = 1e-7F;

}  // namespace stagecraft::constraints::detail

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

/// Weights whose norms have a limit: weight * min(norm, max_value) / (epsilon + norm), with epsilon = 1e-7. Keras:
/// tf.keras.constraints.MaxNorm.
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

/// Weights whose norms have limits on both sides: weight * wanted / (epsilon + norm), where wanted = rate * clip(norm,
/// min_value, max_value) + (1 - rate) * norm and epsilon = 1e-7.
struct min_max_norm {
  /// The smallest norm.
  float min_value = 0;
  /// The largest norm.
  float max_value = 1;
  /// The part of the way to the limits that one update moves norms: from 0 to 1.
  float rate = 1;
  /// The axes that a norm runs along. 0 for a dense kernel (inputs, units), so that each unit has a norm;
  /// {0, 1, 2} for the kernel of a convolution (rows, columns, channels, filters).
  axis_list axis = 0;

  template <std::same_as<constraint> Constraint>
  constexpr operator Constraint() const {  // NOLINT(google-explicit-constructor): used as an option of layers
    return stagecraft::detail::option_of_own<Constraint>(detail::min_max_norm{min_value, max_value, rate, axis});
  }
};

namespace detail {

struct unit_norm {
  static constexpr std::string_view name = "unit_norm";
  norm_axes axis;
  constexpr auto call(auto& ops, auto weight) const { return weight / (axis.norms(ops, weight) + norm_epsilon); }
};

}  // namespace detail

/// Weights whose norms are 1: weight / (epsilon + norm), with epsilon = 1e-7. Keras: tf.keras.constraints.UnitNorm.
struct unit_norm {
  /// The axes that a norm runs along. 0 for a dense kernel (inputs, units), so that each unit has a norm;
  /// {0, 1, 2} for the kernel of a convolution (rows, columns, channels, filters).
  axis_list axis = 0;

  template <std::same_as<constraint> Constraint>
  constexpr operator Constraint() const {  // NOLINT(google-explicit-constructor): used as an option of layers
    return stagecraft::detail::option_of_own<Constraint>(detail::unit_norm{axis});
  }
};

/// Filters whose values depend on the distance from their middle alone. Keras: tf.keras.constraints.RadialConstraint.
/// Squares around the middle of a filter get one value each, that at the lower end of its diagonal: of a square of the
/// size n x n, n/2 + i along both axes for the i-th square. As in Keras, the middle of filters of odd size gets the
/// value before it, at n/2 - 1. Filters are (rows, columns, channels, filters), with as many rows as columns (E1070).
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
    auto result = where(distance < 0.0F, weight, at(middle > 0 ? middle - 1 : 0));  // it has the whole shape
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
