// SPDX-License-Identifier: BSD-3-Clause
// Keras's `noise_shape`, the argument of dropout and alpha_dropout, without the samples.
#pragma once

#include <stagecraft/graph/shape.hpp>

namespace stagecraft::layers::detail {

/// Whether noise of this shape can be repeated to that of an input; an empty one always.
constexpr bool noise_fits(auto const& x, shape const& noise) {
  if (noise.rank() == 0) return true;
  bool fits = x.rank() == noise.rank() + 1;
  for (int axis = 0; fits && axis < noise.rank(); ++axis) fits = noise[axis] == 1 || noise[axis] == x.shape()[axis + 1];
  return fits;
}
/// The shape that is drawn for an input, with its batch.
constexpr auto noise_of(auto const& x, shape const& noise) {
  auto of = x.shape();
  for (int axis = 0; axis < noise.rank(); ++axis) of[axis + 1] = noise[axis];
  return of;
}

}  // namespace stagecraft::layers::detail
