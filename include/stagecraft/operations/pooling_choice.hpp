// SPDX-License-Identifier: BSD-3-Clause
// Reads another tensor at the places that a max pooling has chosen: the gradient of a max pooling's gradient.
#pragma once

#include <stagecraft/operations/tracer.hpp>

namespace stagecraft::operations::detail {

/// The element of `other`, a tensor of x's shape, at the place of the first largest element of each window of x. `y` is
/// the pooling of x. There is one slice for each place of a window.
class largest_of_windows {
 public:
  constexpr largest_of_windows(tracer& ops, windows const& over, extents const& of_pooling)
      : ops_(&ops), over_(over), of_pooling_(of_pooling) {
    for (int i = 0; i < over.count; ++i) is_padded_ = is_padded_ || over[i].before != 0 || over[i].after != 0;
  }

  constexpr tensor choose(tensor x, tensor y, tensor other) const {
    tensor const values = padded(x), others = padded(other);
    tensor is_there, left, result;
    if (is_padded_) {
      extents places = x.shape();
      places[0] = places[-1] = 1;
      is_there = padded(ops_->full(places, 1));
    }
    for (long long tap = 0; tap < over_.size(); ++tap) {
      tensor is_largest = equal(sliced(values, tap), y);
      if (is_padded_) is_largest = is_largest * sliced(is_there, tap);
      tensor const is_first = tap == 0 ? is_largest : is_largest * left;
      tensor const chosen = where(is_first, sliced(others, tap), 0.0F);
      left = tap == 0 ? 1.0F - is_first : left - is_first;
      result = tap == 0 ? chosen : result + chosen;
    }
    return result;
  }

 private:
  constexpr tensor padded(tensor x) const {
    for (int i = 0; i < over_.count; ++i)
      if (over_[i].before != 0 || over_[i].after != 0) x = ops_->pad(x, i + 1, over_[i].before, over_[i].after);
    return x;
  }
  /// The elements at place `tap` of each window; the places of a window are counted from the last axis on, as the
  /// pooling counts them.
  constexpr tensor sliced(tensor x, long long tap) const {
    for (int i = over_.count; i-- > 0;) {
      window const& along = over_[i];
      int const place = static_cast<int>(tap % along.size) * along.dilation;
      tap /= along.size;
      x = ops_->slice(x, i + 1, place, of_pooling_[i + 1], along.stride);
    }
    return x;
  }

  tracer* ops_;
  windows over_;
  extents of_pooling_;
  bool is_padded_ = false;
};

constexpr tensor of_largest(tracer& ops, windows const& over, tensor x, tensor y, tensor other) {
  return largest_of_windows(ops, over, y.shape()).choose(x, y, other);
}

}  // namespace stagecraft::operations::detail
