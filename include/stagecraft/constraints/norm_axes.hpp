// SPDX-License-Identifier: BSD-3-Clause
// The norms of a weight along some of its axes.
#pragma once

#include <stagecraft/constraints/own_constraint.hpp>
#include <stagecraft/graph/axis_list.hpp>

namespace stagecraft::constraints::detail {

/// Axes in one word, as an option of a constraint: four bits for each, and one behind the last.
struct norm_axes {
  unsigned code = 1;

  constexpr explicit(false) norm_axes(axis_list const& axes) {
    for (int i = axes.count; i-- > 0;) code = code << 4U | (static_cast<unsigned>(axes.axes[i]) & 15U);
  }
  /// sqrt(sum(weight^2)) along them; they stay, with length 1.
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
