// SPDX-License-Identifier: BSD-3-Clause
// Elements that indices choose, and elements in order.
#pragma once

#include <stagecraft/operations/tracer.hpp>

namespace stagecraft::operations {

constexpr tensor composed_operations::take(tensor x, tracing::array_view<int const> indices, int axis) {
  if (!x.shape().has(axis) || indices.empty()) return failed(x, "has no places to take along axis ", axis);
  int const length = x.length(axis), count = static_cast<int>(indices.size());
  tracing::growing_array<int> at;
  for (int const index : indices) {
    if (index < -length || index >= length) return failed(x, "has no place ", index, " along axis ", axis);
    at.push_back(index < 0 ? index + length : index);
  }
  // Each index several times: as one repetition, not one for each index.
  int each = 1;
  while (each < count && at[each] == at[0]) ++each;
  bool is_repetition = each > 1 && each < count && count % each == 0;
  for (int i = 0; i < count && is_repetition; ++i) is_repetition = at[i] == at[i / each * each];
  if (is_repetition && x.rank() < extents::max_rank) {
    tracing::growing_array<int> once;
    for (int i = 0; i < count; i += each) once.push_back(at[i]);
    return ops().repeat(take(x, tracing::array_view<int const>(once), axis), each, axis);
  }
  tracing::growing_array<tensor> parts;
  for (int i = 0; i < count;) {
    int end = i + 1;
    int const step = end < count ? at[end] - at[i] : 1;
    while (end < count && at[end] - at[end - 1] == step) ++end;
    // A run of two is as good as two runs, unless a longer one begins at its second place.
    if (end == i + 2 && end < count && (step == 0 || step > 1 || step < -1)) end = i + 1;
    if (step == 0 && end > i + 1) {
      extents wide = x.shape();
      wide[axis] = end - i;
      parts.push_back(ops().broadcast(ops().slice(x, axis, at[i], 1), wide));
    } else {
      parts.push_back(ops().slice(x, axis, at[i], end - i, end == i + 1 ? 1 : step));
    }
    i = end;
  }
  return ops().concatenate(parts, axis);
}

namespace detail {

/// Indices from the front: those below 0 count from the end.
constexpr tensor from_front(tensor indices, int length) {
  return where(indices < 0.0F, indices + static_cast<float>(length), indices);
}

}  // namespace detail

constexpr tensor composed_operations::take(tensor x, tensor indices, int axis) {
  if (!x.shape().has(axis) || x.rank() - 1 + indices.rank() > extents::max_rank)
    return failed(x, "has no places to take by indices of shape ", indices.shape(), " along axis ", axis);
  int const along = x.shape().from_front(axis), count = indices.rank();
  tensor const rows = ops().take(moveaxis(x, along, 0), detail::from_front(stop_gradient(indices), x.length(along)));
  if (along == 0 || count == 0) return rows;
  axis_list order = axis_list::none();  // the axes before, then those of the indices, then the ones after
  order.count = rows.rank();
  for (int i = 0; i < order.count; ++i) order.axes[i] = i < along ? count + i : i < along + count ? i - along : i;
  return ops().transpose(rows, order);
}

/// Reports that floats cannot count the elements of x: E1160.
constexpr bool composed_operations::can_be_counted(tensor x) {
  constexpr long long most = 1LL << 24;
  if (x.shape().size() <= most) return true;
  if (x.list->begin_rejection(1160)) {
    x.list->problem.append("chooses single elements of a tensor of shape ");
    x.list->problem.append(x.shape());
    x.list->problem.append(", which has more than 2^24: indices are floats; split the tensor or the batch");
    x.list->problem.end();
  }
  return false;
}

/// The places that indices along an axis of a tensor of extents `of` name, among all its elements; -1 for none.
constexpr tensor composed_operations::flat_places(tensor indices, extents const& of, int axis) {
  int const along = of.from_front(axis);
  auto const length = static_cast<float>(of[along]);
  tensor const index = detail::from_front(stop_gradient(indices), of[along]);
  long long stride = 1;
  tensor place;
  for (int i = of.rank - 1; i >= 0; stride *= of[i--]) {
    extents row;
    for (int k = 0; k < of.rank; ++k) row.push_back(1);
    row[i] = indices.shape()[i];
    if (i != along && row[i] == 1) continue;
    tensor const step = (i == along ? index : ops().iota(row, i)) * static_cast<float>(stride);
    place = place.list == nullptr ? step : place + step;
  }
  return where(logical_and(index >= 0.0F, index < length), ops().broadcast(place, indices.shape()), -1.0F);
}
constexpr tensor composed_operations::take_along_axis(tensor x, tensor indices, int axis) {
  extents expected = x.shape();
  if (expected.has(axis) && indices.rank() == expected.rank) expected[axis] = indices.shape()[axis];
  if (!x.shape().has(axis) || indices.shape() != expected)
    return failed(x, "has no elements for indices of shape ", indices.shape(), " along axis ", axis);
  if (!can_be_counted(x)) return x;
  int const size = static_cast<int>(x.shape().size()), count = static_cast<int>(expected.size());
  tensor const places = ops().reshape(flat_places(indices, x.shape(), axis), {count});
  return ops().reshape(ops().take(ops().reshape(x, {size, 1}), places), expected);
}
constexpr tensor composed_operations::put_along_axis(tensor x, tensor indices, tensor values, int axis, bool adds) {
  extents expected = x.shape();
  if (expected.has(axis) && indices.rank() == expected.rank) expected[axis] = indices.shape()[axis];
  if (!x.shape().has(axis) || indices.shape() != expected || values.shape() != expected)
    return failed(x, "has no places for values of shape ", values.shape(), " by indices of shape ", indices.shape(),
                  " along axis ", axis);
  if (!can_be_counted(x)) return x;
  int const size = static_cast<int>(x.shape().size()), count = static_cast<int>(expected.size());
  tensor const places = ops().reshape(flat_places(indices, x.shape(), axis), {count});
  auto const summed = [&](tensor rows) {
    return ops().reshape(ops().append(scatter_add{}, {size, 1}, {rows.id, places.id}), x.shape());
  };
  tensor const put = summed(ops().reshape(values, {count, 1}));
  return adds ? x + put : where(summed(ops().full({count, 1}, 1)), put, x);
}
constexpr tensor composed_operations::one_hot(tensor indices, int depth, int axis) {
  int const rank = indices.rank() + 1;
  if (depth < 1 || axis < -rank || axis >= rank || rank > extents::max_rank)
    return failed(indices, "are no indices of ", depth, " places along a new axis ", axis);
  extents row;
  for (int i = 0; i < rank; ++i) row.push_back(1);
  row[axis] = depth;
  return equal(expand_dims(detail::from_front(stop_gradient(indices), depth), axis), ops().iota(row, axis));
}

/// Each trip of a scan finds the largest element that no trip before has found.
constexpr found_elements composed_operations::top_k(tensor x, int k, int axis, bool largest) {
  if (!x.shape().has(axis) || k < 1 || k > x.shape()[axis] || x.rank() == extents::max_rank) {
    failed(x, "has no ", k, " elements along axis ", axis);
    return {x, x};
  }
  if (!can_be_counted(x)) return {x, x};
  int const along = x.shape().from_front(axis), length = x.length(along);
  int const trips = x.rank() > 1 ? 1 : 0;  // the axis of the trips: after the batch, so that samples stay apart
  tensor const of = largest ? stop_gradient(x) : -stop_gradient(x);
  extents row, one = x.shape(), counted;
  for (int i = 0; i < x.rank(); ++i) row.push_back(1);
  row[along] = length;
  one[along] = 1;
  for (int i = 0; i <= trips; ++i) counted.push_back(i == trips ? k : 1);
  tensor const places = ops().iota(row, along);
  auto const find = [&](tensor, std::array<tensor, 2> const& before) {
    tensor const is_found = before[0];
    tensor const left = where(is_found, -__builtin_inff(), of);
    tensor const is_largest = where(is_found, 0.0F, equal(left, ops().max(left, along)));
    tensor const place = ops().min(where(is_largest, places, static_cast<float>(length)), along);
    return std::array{where(equal(places, place), 1.0F, is_found), place};
  };
  std::array const first{ops().full(x.shape(), 0), ops().full(one, 0)};
  tensor const all = ops().scan(ops().iota(counted, trips), trips, first, find).all[1];
  // (batch, k, axes..., 1 for this one, axes...), or (k, 1, ...) where the axis of the trips is the first.
  extents shape = x.shape();
  shape[along] = k;
  bool const is_before = along < trips;
  tensor const moved = moveaxis(squeeze(all, is_before ? along : along + 1), is_before ? 0 : trips, along);
  tensor const indices = stop_gradient(ops().reshape(moved, shape));
  return {take_along_axis(x, indices, axis), indices};
}
constexpr tensor composed_operations::sort(tensor x, int axis, bool falling) {
  return top_k(x, x.shape().has(axis) ? x.length(axis) : 1, axis, falling).values;
}
constexpr tensor composed_operations::argsort(tensor x, int axis, bool falling) {
  return top_k(x, x.shape().has(axis) ? x.length(axis) : 1, axis, falling).indices;
}

}  // namespace stagecraft::operations
