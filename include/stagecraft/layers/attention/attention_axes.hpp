// SPDX-License-Identifier: BSD-3-Clause
// Keras's `attention_axes`: places along some axes of a tensor as one axis, and back.
#pragma once

#include <stagecraft/operations/tracer.hpp>

namespace stagecraft::detail {

/// The batch, the axes that are not attended, those that are, and the features.
constexpr axis_list attended_last(operations::extents const& from, axis_list const& axes) {
  axis_list order(0);
  for (int axis = 1; axis + 1 < from.rank; ++axis) {
    bool is_attended = false;
    for (int const each : axes) is_attended |= each == axis;
    if (!is_attended) order.axes[order.count++] = axis;
  }
  for (int const axis : axes) order.axes[order.count++] = axis;
  order.axes[order.count++] = from.rank - 1;
  return order;
}
/// (samples, places, features), where what is not attended is samples.
constexpr operations::tensor as_places(operations::tracer& ops, operations::tensor x, axis_list const& axes) {
  if (x.rank() == 3) return x;
  int places = 1;
  for (int const axis : axes) places *= x.length(axis);
  int const features = x.length(-1), samples = static_cast<int>(x.shape().size()) / (places * features);
  return ops.reshape(ops.transpose(x, attended_last(x.shape(), axes)), {samples, places, features});
}
/// The inverse: a tensor with the axes of `from`, and features of its own.
constexpr operations::tensor as_before(operations::tracer& ops, operations::tensor x, operations::extents const& from,
                                       axis_list const& axes) {
  if (from.rank == 3) return x;
  auto const order = attended_last(from, axes);
  operations::extents moved = from;
  axis_list back = order;
  for (int i = 0; i < order.count; ++i) {
    moved[i] = from[order.axes[i]];
    back.axes[order.axes[i]] = i;
  }
  moved[-1] = x.length(-1);
  return ops.transpose(ops.reshape(x, moved), back);
}
/// (batch, axes that are not attended, heads, those of the query that are, those of the key).
constexpr operations::extents scores_shape(operations::extents const& query, operations::extents const& key,
                                           axis_list const& axes, int heads) {
  operations::extents result{query[0]};
  auto const order = attended_last(query, axes);
  for (int i = 1; i + 1 < order.count - axes.count; ++i) result.push_back(query[order.axes[i]]);
  result.push_back(heads);
  for (int const axis : axes) result.push_back(query[axis]);
  for (int const axis : axes) result.push_back(key[axis]);
  return result;
}
/// A mask, one for each sample or for all that were one, as (samples, places of the query, places of the key).
constexpr operations::tensor mask_of_places(operations::tracer& ops, operations::tensor mask,
                                            operations::extents const& places) {
  int const batch = mask.length(0), each = places[1] * places[2];
  if (places[0] % batch != 0 || mask.shape().size() != 1LL * batch * each) return ops.reshape(mask, places);
  auto const of_batch = ops.reshape(mask, {batch, 1, each});
  return ops.reshape(ops.broadcast(of_batch, {batch, places[0] / batch, each}), places);
}

}  // namespace stagecraft::detail
