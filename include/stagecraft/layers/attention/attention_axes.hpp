// SPDX-License-Identifier: BSD-3-Clause
// Keras's `attention_axes`: places along some axes of a tensor as one axis, and back.
#pragma once

#include <stagecraft/operations/tracer.hpp>

namespace stagecraft::layers::detail {

constexpr bool is_attended(axis_list const& axes, int axis) {
  for (int const each : axes)
    if (each == axis) return true;
  return false;
}
/// The batch, the axes that are not attended, those that are, and the features.
constexpr axis_list attended_last(operations::extents const& from, axis_list const& axes) {
  axis_list order(0);
  for (int axis = 1; axis + 1 < from.rank; ++axis)
    if (!is_attended(axes, axis)) order.axes[order.count++] = axis;
  for (int const axis : axes) order.axes[order.count++] = axis;
  order.axes[order.count++] = from.rank - 1;
  return order;
}
/// (samples, places, features), where what is not attended is samples.
constexpr operations::tensor as_places(operations::tracer& ops, operations::tensor x, axis_list const& axes) {
  if (x.rank() == 3) return x;
  int places = 1;
  for (int const axis : axes) places *= x.length(axis);
  int const features = x.length(-1), samples = static_cast<int>(x.shape().size() / places / features);
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
/// A mask as (samples, places of the query, places of the key). `scores` is the shape that its scores have; as in
/// Keras, it may lack axes that are not attended, the last ones first, or have length 1 along any.
constexpr operations::tensor mask_of_places(operations::tracer& ops, operations::tensor mask,
                                            operations::extents scores, int attended,
                                            operations::extents const& places) {
  scores.erase(scores.rank - 2 * attended - 1);  // the heads
  operations::extents all = mask.shape();
  while (all.rank > 2 * attended && all.rank < scores.rank) all.insert(all.rank - 2 * attended, 1);
  if (all.rank != scores.rank)
    return ops.error(1070, "has a mask of shape ", mask.shape(), " for scores of ", scores), mask;
  return ops.reshape(ops.broadcast(ops.reshape(mask, all), scores), places);
}

}  // namespace stagecraft::layers::detail
