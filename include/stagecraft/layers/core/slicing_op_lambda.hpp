// SPDX-License-Identifier: BSD-3-Clause
// A part of a symbolic tensor, x[{sc::all(), sc::slice(1, 3)}]. Keras makes a layer of it, a SlicingOpLambda.
#pragma once

#include <stagecraft/graph/slice.hpp>
#include <stagecraft/layers/layer.hpp>
#include <string_view>
#include <type_traits>

namespace stagecraft {

namespace layers {

/// A slice of a tensor. Not called by name: Python's `x[:, 1:3]` is `x[{sc::all(), sc::slice(1, 3)}]`. The first entry
/// is that of the batch, which is taken as it is: `sc::all()` or `sc::ellipsis()`. Slices have step 1.
///
/// Shape: each sliced axis as long as the slice; that of a number goes away. No weights.
/// Errors: E1065 an axis or element that is not there; E1066 the batch, or a step.
/// Definition: Keras, layers/core, SlicingOpLambda.
struct slicing_op_lambda : layer<slicing_op_lambda> {
  static constexpr std::string_view class_name = "SlicingOpLambda";
  static constexpr std::string_view default_name = "tf.__operators__.getitem";

  tracing::slice_list list;

  /// What is taken of each axis of a sample.
  struct part {
    slice::elements axis[shape::max_rank]{};
    bool keeps[shape::max_rank]{};
  };
  [[nodiscard]] constexpr part part_of(shape const& in) const {
    part result;
    for (int axis = 0; axis < in.rank(); ++axis) {
      auto const entry = entry_of(axis + 1, in.rank() + 1);
      int const index = entry.index < 0 ? entry.index + in[axis] : entry.index;
      result.axis[axis] = entry.is_index ? slice::elements{index, 1} : entry.range.of(in[axis]);
      result.keeps[axis] = !entry.is_index;
    }
    return result;
  }

  constexpr auto call(auto& ops, auto x) const {
    shape const in = detail::sample_shape(x);
    int const rank = in.rank();
    int ellipses = 0;
    for (int i = 0; i < list.count && i < tracing::slice_list::capacity; ++i)
      ellipses += list.entries[i].is_ellipsis ? 1 : 0;
    if (ellipses > 1 || list.count - ellipses > rank + 1) {
      ops.error(1065, "slices with ", list.count, " entries, of which ", ellipses,
                ellipses == 1 ? " is an ellipsis" : " are ellipses", ", a tensor of shape ", in,
                " behind the batch; there is at most one ellipsis, and at most one entry for each axis");
      return x;
    }
    auto const batch = entry_of(0, rank + 1);
    if (batch.is_index || batch.range.start.is_given || batch.range.stop.is_given || batch.range.step != 1) {
      ops.error(1066, "slices the batch, which is axis 0; begin with sc::all() or sc::ellipsis()");
      return x;
    }
    auto const taken = part_of(in);
    auto result = x;
    shape kept;
    for (int axis = 0; axis < rank; ++axis) {
      auto const [first, count] = taken.axis[axis];
      if (int const step = entry_of(axis + 1, rank + 1).range.step; step != 1) {
        ops.error(1066, "slices axis ", axis + 1, " with step ", step, "; slices have step 1");
        return x;
      }
      if (first < 0 || count < 1 || first + count > in[axis]) {
        ops.error(1065, "takes nothing of axis ", axis + 1, ", or an element that it does not have, of a tensor ",
                  "of shape ", in, " behind the batch, which is axis 0");
        return x;
      }
      result = ops.slice(result, axis + 1, first, count);
      if (taken.keeps[axis]) kept.push_back(count);
    }
    return ops.reshape(result, operations::extents::of_batch(x.length(0), kept));
  }

 private:
  /// The entry of an axis, the batch being axis 0.
  [[nodiscard]] constexpr tracing::slice_entry entry_of(int axis, int axes) const {
    int position = 0;
    for (int i = 0; i < list.count && i < tracing::slice_list::capacity; ++i) {
      int const length = list.entries[i].is_ellipsis ? axes - (list.count - 1) : 1;
      if (axis < position + length) return list.entries[i].is_ellipsis ? tracing::slice_entry(all()) : list.entries[i];
      position += length;
    }
    return all();
  }
};

}  // namespace layers

template <class Part>
constexpr symbolic_tensor symbolic_tensor::operator[](tracing::slice_list const& part) const {
  std::conditional_t<std::is_same_v<Part, tracing::slice_list>, layers::slicing_op_lambda, Part> layer;
  layer.list = part;
  layer.list.where = {};
  return layer(detail::first_tensor(*this, part.where.file, part.where.line));
}

}  // namespace stagecraft
