// SPDX-License-Identifier: BSD-3-Clause
// NumPy's rule of broadcasting: the element of an operand that each element of a result reads.
#pragma once

#include <stagecraft/graph/shape.hpp>
#include <cstdint>

namespace stagecraft::layers::detail {

/// The shape of two operands' result: their last axes match, and an axis of length 1 is repeated. If they do not match,
/// the shape is empty and `fits` is false.
struct broadcast_shape {
  shape result;
  bool fits = true;

  constexpr broadcast_shape(shape const& a, shape const& b) {
    int const rank = a.rank() > b.rank() ? a.rank() : b.rank();
    for (int axis = 0; axis < rank; ++axis) {
      int const own = length(a, rank, axis), other = length(b, rank, axis);
      fits = fits && (own == other || own == 1 || other == 1);
      result.push_back(own == 1 ? other : own);
    }
  }
  /// The length of an axis of a shape to which axes of length 1 are added in front, up to a rank.
  static constexpr int length(shape const& of, int rank, int axis) {
    int const from = axis - (rank - of.rank());
    return from < 0 ? 1 : of[from];
  }
};

/// The axes of a batch of results, the outermost first, along which an operand has elements of its own or shares one.
/// Neighbours of one kind are one axis.
struct broadcast_axes {
  static constexpr int most = shape::max_rank + 1;

  int count = 1;
  std::int64_t length[most]{};
  bool shared[most]{};

  constexpr broadcast_axes(int batch, shape const& result, shape const& operand, bool shares_batch = false) {
    length[0] = batch;
    shared[0] = shares_batch;
    for (int axis = 0; axis < result.rank(); ++axis) {
      if (result[axis] == 1) continue;
      bool const shares = broadcast_shape::length(operand, result.rank(), axis) == 1;
      if (shares == shared[count - 1]) {
        length[count - 1] *= result[axis];
      } else {
        shared[count] = shares;
        length[count++] = result[axis];
      }
    }
  }

  [[nodiscard]] constexpr bool shares() const { return count > 1; }
  /// Elements of the result along axes [first, last).
  [[nodiscard]] constexpr std::int64_t size(int first, int last) const {
    std::int64_t result = 1;
    for (int axis = first; axis < last; ++axis) result *= length[axis];
    return result;
  }
  /// The operand's own elements along these axes.
  [[nodiscard]] constexpr std::int64_t own_size(int first, int last) const {
    std::int64_t result = 1;
    for (int axis = first; axis < last; ++axis) result *= shared[axis] ? 1 : length[axis];
    return result;
  }
  /// The operand's element that an element of the result reads.
  [[nodiscard]] constexpr std::int64_t element(std::int64_t of_result) const {
    std::int64_t result = 0, stride = 1;
    for (int axis = count; axis-- > 0;) {
      if (!shared[axis]) {
        result += of_result % length[axis] * stride;
        stride *= length[axis];
      }
      of_result /= length[axis];
    }
    return result;
  }
  /// The `repeat`-th element of the result that reads the operand's element number `own`.
  [[nodiscard]] constexpr std::int64_t reader(std::int64_t own, std::int64_t repeat) const {
    std::int64_t result = 0, stride = 1;
    for (int axis = count; axis-- > 0;) {
      auto& counter = shared[axis] ? repeat : own;
      result += counter % length[axis] * stride;
      counter /= length[axis];
      stride *= length[axis];
    }
    return result;
  }
};

}  // namespace stagecraft::layers::detail
