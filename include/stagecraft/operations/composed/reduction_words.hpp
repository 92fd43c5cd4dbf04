// SPDX-License-Identifier: BSD-3-Clause
// Words of `ops` for reductions, running sums, softmax and dropout. They are composed of other operations, from which
// gradients, costs and tasks of tiles follow. Counterparts: keras.ops, NumPy, ONNX.
#pragma once

#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/operations/composed/refusal.hpp>
#include <stagecraft/operations/functions.hpp>
#include <stagecraft/operations/tensor.hpp>
#include <stagecraft/operations/tracer.hpp>

namespace stagecraft::operations {

namespace detail {

/// The first or last place of an axis where `x` is its largest element.
constexpr tensor places_of_extreme(tracer& ops, tensor x, int axis, bool last) {
  if (!x.shape().has(axis)) return detail::refused(x, "has no axis #", {axis});
  auto const length = x.length(axis);
  extents row;
  for (int i = 0; i < x.rank(); ++i) row.push_back(1);
  row[axis] = length;
  tensor const places = ops.iota(row, axis), is_largest = equal(x, stop_gradient(ops.max(x, axis)));
  return last ? ops.max(where(is_largest, places, -1.0F), axis)
              : ops.min(where(is_largest, places, static_cast<float>(length)), axis);
}
/// Computes running sums or products: pass i combines each result with the one 2^i places before it.
constexpr tensor accumulated(tracer& ops, tensor x, int axis, bool exclusive, bool reverse, float neutral) {
  if (!x.shape().has(axis)) return detail::refused(x, "has no axis #", {axis});
  auto const length = x.length(axis);
  auto const moved = [&](tensor of, int places) {
    auto ends = x.shape();
    ends[axis] = places;
    tensor const kept = ops.slice(of, axis, reverse ? places : 0, length - places);
    if (neutral == 0) return ops.pad(kept, axis, reverse ? 0 : places, reverse ? places : 0);
    tensor const end = ops.full(ends, neutral);
    return reverse ? ops.concatenate({kept, end}, axis) : ops.concatenate({end, kept}, axis);
  };
  if (exclusive && length == 1) return ops.full(x.shape(), neutral);
  tensor result = exclusive ? moved(x, 1) : x;
  for (int places = 1; places < length; places *= 2) {
    tensor const before = moved(result, places);
    result = neutral == 0 ? result + before : result * before;
  }
  return result;
}

}  // namespace detail

constexpr tensor composed_words::prod(tensor x, axis_list const& axes) {
  for (int const axis : axes) {
    if (!x.shape().has(axis)) return detail::refused(x, "has no axis #", {axis});
    tensor rest;  // the element that is in neither half
    for (int count = x.length(axis); count > 1; count /= 2) {
      int const half = count / 2;
      if (count % 2 != 0) {
        tensor const last = ops().slice(x, axis, count - 1, 1);
        rest = rest.list == nullptr ? last : rest * last;
      }
      x = ops().slice(x, axis, 0, half) * ops().slice(x, axis, half, half);
    }
    if (rest.list != nullptr) x = x * rest;
  }
  return x;
}
constexpr tensor composed_words::logsumexp(tensor x, axis_list const& axes) {
  tensor const largest = stop_gradient(ops().max(x, axes));
  tensor const finite = where(isfinite(largest), largest, 0.0F);
  return log(ops().sum(exp(x - finite), axes)) + finite;
}
constexpr tensor composed_words::l1_norm(tensor x, axis_list const& axes) { return ops().sum(abs(x), axes); }
constexpr tensor composed_words::l2_norm(tensor x, axis_list const& axes) { return sqrt(ops().sum(square(x), axes)); }
constexpr tensor composed_words::argmax(tensor x, int axis, bool last) {
  return detail::places_of_extreme(ops(), stop_gradient(x), axis, last);
}
constexpr tensor composed_words::argmin(tensor x, int axis, bool last) {
  return detail::places_of_extreme(ops(), -stop_gradient(x), axis, last);
}
constexpr tensor composed_words::cumsum(tensor x, int axis, bool exclusive, bool reverse) {
  return detail::accumulated(ops(), x, axis, exclusive, reverse, 0);
}
constexpr tensor composed_words::cumprod(tensor x, int axis, bool exclusive, bool reverse) {
  return detail::accumulated(ops(), x, axis, exclusive, reverse, 1);
}
constexpr tensor composed_words::local_response_normalization(tensor x, int size, float alpha, float beta, float bias,
                                                              int axis) {
  if (!x.shape().has(axis) || size < 1)
    return detail::refused(x, "has no windows of # places along axis #", {size, axis});
  auto const length = x.length(axis), before = (size - 1) / 2;
  tensor const padded = ops().pad(square(x), axis, before, size - 1 - before);
  tensor sum = ops().slice(padded, axis, 0, length);
  for (int i = 1; i < size; ++i) sum = sum + ops().slice(padded, axis, i, length);
  return x * exp(log(sum * (alpha / static_cast<float>(size)) + bias) * -beta);
}
constexpr tensor composed_words::quantize(tensor x, float scale, bytes_from range) {
  constexpr int most = 255;
  return minimum(maximum(round(x / scale), static_cast<float>(range.least)), static_cast<float>(range.least + most));
}

}  // namespace stagecraft::operations
