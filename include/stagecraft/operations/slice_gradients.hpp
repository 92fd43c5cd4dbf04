// SPDX-License-Identifier: BSD-3-Clause
// Puts the gradients of slices of one tensor together: a tensor that is cut into parts, such as the gates of a
// recurrent layer, gets their gradients side by side and not as sums of tensors of zeros.
#pragma once

#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/operations/tracer.hpp>
#include <cstddef>
#include <utility>

namespace stagecraft::operations::detail {

class slice_gradients {
 public:
  /// Adds the gradient of places [where.begin, ...) of an axis of tensor `id`.
  constexpr void add(int id, slice const& where, tensor gradient) { parts_.push_back({id, where, gradient.id}); }

  /// Returns the gradient of tensor x by all its slices and forgets these; its id is -1 if there are none.
  constexpr tensor take(tracer& ops, tensor x) {
    tracing::growing_array<part> own;
    std::size_t kept = 0;
    for (part const& each : parts_)
      if (each.id == x.id)
        own.push_back(each);
      else
        parts_[kept++] = each;
    if (own.empty()) return {x.list, -1};
    while (parts_.size() > kept) parts_.pop_back();
    for (std::size_t i = 1; i < own.size(); ++i)
      for (std::size_t k = i; k > 0 && own[k].where.begin < own[k - 1].where.begin; --k) std::swap(own[k], own[k - 1]);
    return are_whole(own, x) ? joined(ops, own, x) : summed(ops, own, x);
  }

 private:
  struct part {
    int id;
    slice where;
    int gradient;
  };

  /// True if the parts cover each element of x once.
  static constexpr bool are_whole(tracing::growing_array<part> const& parts, tensor x) {
    int end = 0;
    for (part const& each : parts) {
      if (each.where.axis != parts[0].where.axis || each.where.step != 1 || each.where.begin != end) return false;
      end += x.list->node_of(each.gradient).shape[each.where.axis];
    }
    return end == x.shape()[parts[0].where.axis];
  }
  static constexpr tensor joined(tracer& ops, tracing::growing_array<part> const& parts, tensor x) {
    if (parts.size() == 1) return {x.list, parts[0].gradient};
    tracing::growing_array<int> reads;
    for (part const& each : parts) reads.push_back(each.gradient);
    return {x.list, ops.list().append(concatenate{parts[0].where.axis}, x.shape(), reads)};
  }
  static constexpr tensor summed(tracer& ops, tracing::growing_array<part> const& parts, tensor x) {
    tensor sum{x.list, -1};
    for (part const& each : parts) {
      pad const where{each.where.axis, each.where.begin, each.where.step};
      tensor const wide = ops.scattered({x.list, each.gradient}, where, x.shape());
      sum = sum.id < 0 ? wide : sum + wide;
    }
    return sum;
  }

  tracing::growing_array<part> parts_;
};

}  // namespace stagecraft::operations::detail
