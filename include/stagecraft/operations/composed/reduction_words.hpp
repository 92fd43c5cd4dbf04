// SPDX-License-Identifier: BSD-3-Clause
// Words of `ops` for reductions, running sums, softmax and dropout. They are made of
// other operations: gradients, costs and tasks of tiles follow from these. Counterparts: keras.ops, NumPy, ONNX.
#pragma once

#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/operations/composed/refusal.hpp>
#include <stagecraft/operations/functions.hpp>
#include <stagecraft/operations/tensor.hpp>

namespace stagecraft::operations {

class composite_gradient;
constexpr void softmax_rule(composite_gradient&);
constexpr void dropout_rule(composite_gradient&);

/// A base of `tracer`, which is `Ops`. Arguments that do not fit are E1070, as there. A template, so that programs
/// without these words do not pay for them.
template <class Ops, class Tensor>
class reduction_words {
 public:
  /// The product over axes. Its gradient is right where elements are 0. Makes log2(n) products of halves.
  constexpr Tensor prod(Tensor x, axis_list const& axes) {
    for (int const axis : axes) {
      if (!x.shape().has(axis)) return detail::refused(x, "has no axis #", {axis});
      Tensor rest;  // the element that no half has
      for (int count = x.length(axis); count > 1; count /= 2) {
        int const half = count / 2;
        if (count % 2 != 0) {
          Tensor const last = ops().slice(x, axis, count - 1, 1);
          rest = rest.list == nullptr ? last : rest * last;
        }
        x = ops().slice(x, axis, 0, half) * ops().slice(x, axis, half, half);
      }
      if (rest.list != nullptr) x = x * rest;
    }
    return x;
  }
  /// log(sum(exp(x))) over axes, without overflow.
  constexpr Tensor logsumexp(Tensor x, axis_list const& axes) {
    Tensor const largest = stop_gradient(ops().max(x, axes));
    Tensor const finite = where(isfinite(largest), largest, 0.0F);
    return log(ops().sum(exp(x - finite), axes)) + finite;
  }
  /// The sum of sizes over axes: ONNX's ReduceL1.
  constexpr Tensor l1_norm(Tensor x, axis_list const& axes) { return ops().sum(abs(x), axes); }
  /// The root of the sum of squares over axes: ONNX's ReduceL2. Its gradient at 0 is NaN, as TensorFlow's.
  constexpr Tensor l2_norm(Tensor x, axis_list const& axes) { return sqrt(ops().sum(square(x), axes)); }
  /// The place of the largest element of an axis: of the first one, or of the last. It has no gradient. An axis with
  /// NaN has no such place; the result is its length, or -1 for the last.
  constexpr Tensor argmax(Tensor x, int axis = -1, bool last = false) {
    return places_of_extreme(stop_gradient(x), axis, last);
  }
  /// The place of the smallest element of an axis, as `argmax`.
  constexpr Tensor argmin(Tensor x, int axis = -1, bool last = false) {
    return places_of_extreme(-stop_gradient(x), axis, last);
  }
  /// Element i is the sum of the elements up to i, or of those before i if `exclusive`; from the end if `reverse`.
  /// Makes log2(n) sums of the whole tensor.
  constexpr Tensor cumsum(Tensor x, int axis, bool exclusive = false, bool reverse = false) {
    return accumulated(x, axis, exclusive, reverse, 0);
  }
  /// Element i is the product of the elements up to i, as `cumsum`.
  constexpr Tensor cumprod(Tensor x, int axis, bool exclusive = false, bool reverse = false) {
    return accumulated(x, axis, exclusive, reverse, 1);
  }
  /// x / (bias + alpha / size s)^beta, where s is the sum of squares in a window of `size` places of an axis around
  /// each: ONNX's LRN, of AlexNet and GoogLeNet. TensorFlow's `alpha` is ONNX's alpha / size.
  constexpr Tensor local_response_normalization(Tensor x, int size, float alpha = 1e-4F, float beta = 0.75F,
                                                float bias = 1, int axis = -1) {
    if (!x.shape().has(axis) || size < 1)
      return detail::refused(x, "has no windows of # places along axis #", {size, axis});
    auto const length = x.length(axis), before = (size - 1) / 2;
    Tensor const padded = ops().pad(square(x), axis, before, size - 1 - before);
    Tensor sum = ops().slice(padded, axis, 0, length);
    for (int i = 1; i < size; ++i) sum = sum + ops().slice(padded, axis, i, length);
    return x * exp(log(sum * (alpha / static_cast<float>(size)) + bias) * -beta);
  }
  /// exp(x) / sum(exp(x)) along an axis, computed from x less its largest element.
  constexpr Tensor softmax(Tensor x, int axis = -1) {
    if (!x.shape().has(axis)) return detail::refused(x, "has no axis #", {axis});
    auto const along = static_cast<float>(x.shape().from_front(axis));
    auto const inside = [&] {
      Tensor const e = exp(x - stop_gradient(ops().max(x, axis)));
      return e / ops().sum(e, axis);
    };
    return ops().composite("softmax", {x}, inside, softmax_rule, {along});
  }
  /// x / (1 - rate), or 0 where a random number is below the rate. There is a random number for each element of
  /// `drawn`, which is broadcast.
  constexpr Tensor dropout(Tensor x, extents const& drawn, float rate, std::uint64_t seed = 0) {
    return dropout(x, ops().uniform(drawn, seed), rate);
  }
  constexpr Tensor dropout(Tensor x, Tensor drawn, float rate, bool is_gradient = false) {
    auto const inside = [&] { return where(drawn >= rate, x * (1.0F / (1.0F - rate)), 0.0F); };
    return ops().composite("dropout", {drawn, x}, inside, dropout_rule, {rate}, is_gradient);
  }

 private:
  constexpr Ops& ops() { return static_cast<Ops&>(*this); }
  /// The first or last place of an axis where `x` is its largest element.
  constexpr Tensor places_of_extreme(Tensor x, int axis, bool last) {
    if (!x.shape().has(axis)) return detail::refused(x, "has no axis #", {axis});
    auto const length = x.length(axis);
    extents row;
    for (int i = 0; i < x.rank(); ++i) row.push_back(1);
    row[axis] = length;
    Tensor const places = ops().iota(row, axis), is_largest = equal(x, stop_gradient(ops().max(x, axis)));
    return last ? ops().max(where(is_largest, places, -1.0F), axis)
                : ops().min(where(is_largest, places, static_cast<float>(length)), axis);
  }
  /// Each pass adds the results that stand 1, 2, 4, ... places before.
  constexpr Tensor accumulated(Tensor x, int axis, bool exclusive, bool reverse, float neutral) {
    if (!x.shape().has(axis)) return detail::refused(x, "has no axis #", {axis});
    auto const length = x.length(axis);
    auto const moved = [&](Tensor of, int places) {
      auto ends = x.shape();
      ends[axis] = places;
      Tensor const kept = ops().slice(of, axis, reverse ? places : 0, length - places);
      if (neutral == 0) return ops().pad(kept, axis, reverse ? 0 : places, reverse ? places : 0);
      Tensor const end = ops().full(ends, neutral);
      return reverse ? ops().concatenate({kept, end}, axis) : ops().concatenate({end, kept}, axis);
    };
    if (exclusive && length == 1) return ops().full(x.shape(), neutral);
    Tensor result = exclusive ? moved(x, 1) : x;
    for (int places = 1; places < length; places *= 2) {
      Tensor const before = moved(result, places);
      result = neutral == 0 ? result + before : result * before;
    }
    return result;
  }
};

}  // namespace stagecraft::operations
