// SPDX-License-Identifier: BSD-3-Clause
// Words of `ops` for elements that indices choose, and for elements in order. They are composed of other operations,
// from which gradients, costs and tasks of tiles follow. Counterparts: keras.ops, NumPy, ONNX.
#pragma once

#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/operations/composed/refusal.hpp>
#include <stagecraft/operations/functions.hpp>
#include <stagecraft/operations/tensor.hpp>
#include <stagecraft/operations/tracer.hpp>

namespace stagecraft::operations {

namespace detail {

/// Turns indices below 0, which count from the end, into indices from the front.
constexpr tensor from_front(tensor indices, int length) {
  return where(indices < 0.0F, indices + static_cast<float>(length), indices);
}

}  // namespace detail

/// The largest elements of an axis and their places.
struct found_elements {
  tensor values;   ///< in order, the first one first
  tensor indices;  ///< their places; they have no gradient
};

namespace detail {

/// Rows of a tensor at places of its first axes.
struct places_of_rows {
  extents table, result;  ///< (places, elements of a row); the shape of the rows that indices name
  bool fits = false;

  constexpr places_of_rows(extents const& x, extents const& indices, int batch_axes) {
    int const named = indices.rank > 0 ? batch_axes + indices[-1] : 0;
    if (batch_axes < 0 || indices.rank <= batch_axes || named > x.rank || indices[-1] < 1 ||
        indices.rank - 1 + x.rank - named > extents::max_rank)
      return;
    long long places = 1, row = 1;
    for (int i = 0; i + 1 < indices.rank; ++i) result.push_back(indices[i]);
    for (int i = 0; i < x.rank; ++i) (i < named ? places : row) *= x[i];
    for (int i = named; i < x.rank; ++i) result.push_back(x[i]);
    table = {places, row};
    fits = true;
    for (int i = 0; i < batch_axes; ++i) fits = fits && x[i] == indices[i];
  }
};
/// The numbers of the places that rows of indices name, on one axis; -1 for a place that does not exist.
constexpr tensor flat_rows(tracer& ops, tensor indices, extents const& of, int batch_axes) {
  auto const last = indices.rank() - 1;
  tensor place, is_there;
  long long stride = 1;
  for (int i = batch_axes + indices.length(last); i-- > 0; stride *= of[i]) {
    tensor index;
    if (i < batch_axes) {
      extents axis;
      for (int k = 0; k <= last; ++k) axis.push_back(k == i ? of[i] : 1);
      index = ops.iota(axis, i);
    } else {
      index = detail::from_front(stop_gradient(ops.slice(indices, last, i - batch_axes, 1)), of[i]);
      tensor const here = logical_and(index >= 0.0F, index < static_cast<float>(of[i]));
      is_there = is_there.list == nullptr ? here : is_there * here;
    }
    index = index * static_cast<float>(stride);
    place = place.list == nullptr ? index : place + index;
  }
  auto const count = static_cast<int>(indices.shape().size()) / indices.length(last);
  return ops.reshape(where(is_there, place, -1.0F), {count});
}
/// Reports E1160 if floats cannot count the elements of x.
constexpr bool can_be_counted(tensor x, long long places) {
  constexpr long long most = 1LL << 24;
  if (places <= most) return true;
  if (x.list->begin_rejection(1160)) {
    x.list->problem.append("chooses single elements of a tensor of shape ");
    x.list->problem.append(x.shape());
    x.list->problem.append(", which has more than 2^24: indices are floats; split the tensor or the batch");
    x.list->problem.end();
  }
  return false;
}
constexpr bool can_be_counted(tensor x) { return can_be_counted(x, x.shape().size()); }
/// The places that indices along an axis of a tensor of extents `of` name, among all its elements; -1 for a place that
/// does not exist.
constexpr tensor flat_places(tracer& ops, tensor indices, extents const& of, int axis) {
  auto const along = of.from_front(axis);
  auto const length = static_cast<float>(of[along]);
  tensor const index = detail::from_front(stop_gradient(indices), of[along]);
  long long stride = 1;
  tensor place;
  for (int i = of.rank - 1; i >= 0; stride *= of[i--]) {
    extents row;
    for (int k = 0; k < of.rank; ++k) row.push_back(1);
    row[i] = indices.shape()[i];
    if (i != along && row[i] == 1) continue;
    tensor const step = (i == along ? index : ops.iota(row, i)) * static_cast<float>(stride);
    place = place.list == nullptr ? step : place + step;
  }
  return where(logical_and(index >= 0.0F, index < length), ops.broadcast(place, indices.shape()), -1.0F);
}

}  // namespace detail

constexpr tensor composed_words::take(tensor x, tracing::array_view<int const> indices, int axis) {
  if (!x.shape().has(axis) || indices.empty()) return detail::refused(x, "has no places to take along axis #", {axis});
  auto const length = x.length(axis), count = static_cast<int>(indices.size());
  tracing::growing_array<int> at;
  for (int const index : indices) {
    if (index < -length || index >= length) return detail::refused(x, "has no place # along axis #", {index, axis});
    at.push_back(index < 0 ? index + length : index);
  }
  // Each index several times is one repetition, not one for each index.
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
      auto wide = x.shape();
      wide[axis] = end - i;
      parts.push_back(ops().broadcast(ops().slice(x, axis, at[i], 1), wide));
    } else {
      parts.push_back(ops().slice(x, axis, at[i], end - i, end == i + 1 ? 1 : step));
    }
    i = end;
  }
  return ops().concatenate(parts, axis);
}
constexpr tensor composed_words::take(tensor x, tensor indices, int axis) {
  if (!x.shape().has(axis) || x.rank() - 1 + indices.rank() > extents::max_rank)
    return detail::refused(x, "has no places to take by indices of shape @ along axis #", {axis}, {indices.shape()});
  auto const along = x.shape().from_front(axis), count = indices.rank();
  tensor const rows =
      ops().take(ops().moveaxis(x, along, 0), detail::from_front(stop_gradient(indices), x.length(along)));
  if (along == 0 || count == 0) return rows;
  axis_list order = axis_list::none();  // the axes before, then those of the indices, then the ones after
  order.count = rows.rank();
  for (int i = 0; i < order.count; ++i) order.axes[i] = i < along ? count + i : i < along + count ? i - along : i;
  return ops().transpose(rows, order);
}
constexpr tensor composed_words::take_along_axis(tensor x, tensor indices, int axis) {
  auto expected = x.shape();
  if (expected.has(axis) && indices.rank() == expected.rank) expected[axis] = indices.shape()[axis];
  if (!x.shape().has(axis) || indices.shape() != expected)
    return detail::refused(x, "has no elements for indices of shape @ along axis #", {axis}, {indices.shape()});
  if (!detail::can_be_counted(x)) return x;
  auto const size = static_cast<int>(x.shape().size()), count = static_cast<int>(expected.size());
  tensor const places = ops().reshape(detail::flat_places(ops(), indices, x.shape(), axis), {count});
  return ops().reshape(ops().take(ops().reshape(x, {size, 1}), places), expected);
}
constexpr tensor composed_words::put_along_axis(tensor x, tensor indices, tensor values, int axis, bool adds) {
  auto expected = x.shape();
  if (expected.has(axis) && indices.rank() == expected.rank) expected[axis] = indices.shape()[axis];
  if (!x.shape().has(axis) || indices.shape() != expected || values.shape() != expected)
    return detail::refused(x, "has no places for values of shape @ by indices of shape @ along axis #", {axis},
                           {values.shape(), indices.shape()});
  if (!detail::can_be_counted(x)) return x;
  auto const size = static_cast<int>(x.shape().size()), count = static_cast<int>(expected.size());
  tensor const places = ops().reshape(detail::flat_places(ops(), indices, x.shape(), axis), {count});
  auto const summed = [&](tensor rows) {
    return ops().reshape(ops().append(scatter_add{}, {size, 1}, {rows.id, places.id}), x.shape());
  };
  tensor const put = summed(ops().reshape(values, {count, 1}));
  return adds ? x + put : where(summed(ops().full({count, 1}, 1)), put, x);
}
constexpr tensor composed_words::gather_nd(tensor x, tensor indices, int batch_axes) {
  detail::places_of_rows const where_to(x.shape(), indices.shape(), batch_axes);
  if (!where_to.fits)
    return detail::refused(x, "has no rows at places of shape @ after # axes", {batch_axes}, {indices.shape()});
  if (!detail::can_be_counted(x, where_to.table[0])) return x;
  return ops().reshape(
      ops().take(ops().reshape(x, where_to.table), detail::flat_rows(ops(), indices, x.shape(), batch_axes)),
      where_to.result);
}
constexpr tensor composed_words::scatter_nd(tensor x, tensor indices, tensor values, bool adds) {
  detail::places_of_rows const where_to(x.shape(), indices.shape(), 0);
  if (!where_to.fits || values.shape() != where_to.result)
    return detail::refused(x, "has no rows for values of shape @ at places of shape @", {},
                           {values.shape(), indices.shape()});
  if (!detail::can_be_counted(x, where_to.table[0])) return x;
  tensor const places = detail::flat_rows(ops(), indices, x.shape(), 0);
  auto const summed = [&](tensor rows) {
    return ops().append(scatter_add{}, {where_to.table[0], rows.length(-1)}, {rows.id, places.id});
  };
  int const count = places.length(0);
  tensor const put = summed(ops().reshape(values, {count, where_to.table[1]}));
  if (adds) return x + ops().reshape(put, x.shape());
  tensor const is_put = summed(ops().full({count, 1}, 1));
  return ops().reshape(where(is_put, put, ops().reshape(x, where_to.table)), x.shape());
}
constexpr tensor composed_words::one_hot(tensor indices, int depth, int axis) {
  auto const rank = indices.rank() + 1;
  if (depth < 1 || axis < -rank || axis >= rank || rank > extents::max_rank)
    return detail::refused(indices, "are no indices of # places along a new axis #", {depth, axis});
  extents row;
  for (int i = 0; i < rank; ++i) row.push_back(1);
  row[axis] = depth;
  return equal(ops().expand_dims(detail::from_front(stop_gradient(indices), depth), axis), ops().iota(row, axis));
}
constexpr found_elements composed_words::top_k(tensor x, int k, int axis, bool largest) {
  if (!x.shape().has(axis) || k < 1 || k > x.shape()[axis] || x.rank() == extents::max_rank) {
    detail::refused(x, "has no # elements along axis #", {k, axis});
    return {x, x};
  }
  if (!detail::can_be_counted(x)) return {x, x};
  auto const along = x.shape().from_front(axis), length = x.length(along);
  auto const trips = x.rank() > 1 ? 1 : 0;  // the axis of the trips: after the batch, so that samples stay apart
  tensor const of = largest ? stop_gradient(x) : -stop_gradient(x);
  extents row, one = x.shape(), counted;
  for (int i = 0; i < x.rank(); ++i) row.push_back(1);
  row[along] = length;
  one[along] = 1;
  for (int i = 0; i <= trips; ++i) counted.push_back(i == trips ? k : 1);
  tensor const places = ops().iota(row, along);
  // Each trip of a scan finds the largest element that no trip before has found.
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
  auto shape = x.shape();
  shape[along] = k;
  bool const is_before = along < trips;
  tensor const moved = ops().moveaxis(ops().squeeze(all, is_before ? along : along + 1), is_before ? 0 : trips, along);
  tensor const indices = stop_gradient(ops().reshape(moved, shape));
  return {take_along_axis(x, indices, axis), indices};
}
constexpr tensor composed_words::sort(tensor x, int axis, bool falling) {
  return top_k(x, x.shape().has(axis) ? x.length(axis) : 1, axis, falling).values;
}
constexpr tensor composed_words::argsort(tensor x, int axis, bool falling) {
  return top_k(x, x.shape().has(axis) ? x.length(axis) : 1, axis, falling).indices;
}
constexpr tensor composed_words::take(tensor x, std::initializer_list<int> indices, int axis) {
  return take(x, tracing::array_view<int const>(indices.begin(), indices.size()), axis);
}

}  // namespace stagecraft::operations
