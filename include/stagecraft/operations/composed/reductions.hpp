// SPDX-License-Identifier: BSD-3-Clause
// Products, norms, places of extremes and running sums along axes; softmax and dropout.
#pragma once

#include <stagecraft/operations/tracer.hpp>

namespace stagecraft::operations {

constexpr void softmax_rule(composite_gradient&);
constexpr void dropout_rule(composite_gradient&);

constexpr tracer& composed_operations::ops() { return static_cast<tracer&>(*this); }

constexpr tensor composed_operations::prod(tensor x, axis_list const& axes) {
  for (int const axis : axes) {
    if (!x.shape().has(axis)) return failed(x, "has no axis ", axis);
    tensor rest;  // the element that no half has
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

constexpr tensor composed_operations::logsumexp(tensor x, axis_list const& axes) {
  tensor const largest = stop_gradient(ops().max(x, axes));
  tensor const finite = where(isfinite(largest), largest, 0.0F);
  return log(ops().sum(exp(x - finite), axes)) + finite;
}

constexpr tensor composed_operations::l1_norm(tensor x, axis_list const& axes) { return ops().sum(abs(x), axes); }
constexpr tensor composed_operations::l2_norm(tensor x, axis_list const& axes) {
  return sqrt(ops().sum(square(x), axes));
}

/// The first or last place of an axis where `x` is its largest element.
constexpr tensor composed_operations::places_of_extreme(tensor x, int axis, bool last) {
  if (!x.shape().has(axis)) return failed(x, "has no axis ", axis);
  int const length = x.length(axis);
  extents row;
  for (int i = 0; i < x.rank(); ++i) row.push_back(1);
  row[axis] = length;
  tensor const places = ops().iota(row, axis), is_largest = equal(x, stop_gradient(ops().max(x, axis)));
  return last ? ops().max(where(is_largest, places, -1.0F), axis)
              : ops().min(where(is_largest, places, static_cast<float>(length)), axis);
}
constexpr tensor composed_operations::argmax(tensor x, int axis, bool last) {
  return places_of_extreme(stop_gradient(x), axis, last);
}
constexpr tensor composed_operations::argmin(tensor x, int axis, bool last) {
  return places_of_extreme(-stop_gradient(x), axis, last);
}

/// Each pass adds the results that stand 1, 2, 4, ... places before.
constexpr tensor composed_operations::accumulated(tensor x, int axis, bool exclusive, bool reverse, float neutral) {
  if (!x.shape().has(axis)) return failed(x, "has no axis ", axis);
  int const length = x.length(axis);
  auto const moved = [&](tensor of, int places) {
    extents ends = x.shape();
    ends[axis] = places;
    tensor const kept = ops().slice(of, axis, reverse ? places : 0, length - places);
    if (neutral == 0) return ops().pad(kept, axis, reverse ? 0 : places, reverse ? places : 0);
    tensor const end = ops().full(ends, neutral);
    return reverse ? ops().concatenate({kept, end}, axis) : ops().concatenate({end, kept}, axis);
  };
  if (exclusive && length == 1) return ops().full(x.shape(), neutral);
  tensor result = exclusive ? moved(x, 1) : x;
  for (int places = 1; places < length; places *= 2) {
    tensor const before = moved(result, places);
    result = neutral == 0 ? result + before : result * before;
  }
  return result;
}
constexpr tensor composed_operations::cumsum(tensor x, int axis, bool exclusive, bool reverse) {
  return accumulated(x, axis, exclusive, reverse, 0);
}
constexpr tensor composed_operations::cumprod(tensor x, int axis, bool exclusive, bool reverse) {
  return accumulated(x, axis, exclusive, reverse, 1);
}

constexpr tensor composed_operations::softmax(tensor x, int axis) {
  if (!x.shape().has(axis)) return failed(x, "has no axis ", axis);
  auto const along = static_cast<float>(x.shape().from_front(axis));
  auto const inside = [&] {
    tensor const e = exp(x - stop_gradient(ops().max(x, axis)));
    return e / ops().sum(e, axis);
  };
  return ops().composite("softmax", {x}, inside, softmax_rule, {along});
}
constexpr tensor composed_operations::dropout(tensor x, extents const& drawn, float rate, std::uint64_t seed) {
  return dropout(x, ops().uniform(drawn, seed), rate);
}
constexpr tensor composed_operations::dropout(tensor x, tensor drawn, float rate, bool is_gradient) {
  auto const inside = [&] { return where(drawn >= rate, x * (1.0F / (1.0F - rate)), 0.0F); };
  return ops().composite("dropout", {drawn, x}, inside, dropout_rule, {rate}, is_gradient);
}

}  // namespace stagecraft::operations
