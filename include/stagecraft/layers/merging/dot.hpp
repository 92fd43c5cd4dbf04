// SPDX-License-Identifier: BSD-3-Clause
// Sums of products along an axis of each of two inputs: tf.keras.layers.Dot.
#pragma once

#include <stagecraft/graph/shape.hpp>
#include <stagecraft/layers/layer.hpp>
#include <stagecraft/layers/option_layer.hpp>

namespace stagecraft::layers {

/// Keras's keyword arguments of Dot.
struct dot_options {
  bool normalize = false;  ///< true if both inputs are divided by their lengths along the axis first: cosines
#include <stagecraft/layers/common_options.hpp>
};

/// For each sample, sums of a[.., k, ..] * b[.., k, ..], where k runs along an axis of each. `axes` is one for both or
/// {of a, of b}; they count as in Keras: the batch is axis 0, -1 is the last.
///
/// Shape: the other axes of a, then those of b; (1) if there are none. No weights. Cost: one product. Errors: E1001;
/// E1074 axes that do not fit. Definition: Keras API, layers/merging_layers/dot.
struct dot : argument_layer<dot, dot_options> {
  static constexpr std::string_view class_name = "Dot";
  static constexpr std::string_view usage = "dot{axis}, dot{{1, 2}} or dot{axis, {.normalize = true, .name = ...}}"sv;

  axis_list axes = 1;
  using arguments = argument_list<&dot::axes>;

  constexpr explicit dot(axis_list const& axes_, dot_options const& options_ = {})
      : argument_layer(with{}, options_), axes(axes_) {}
  constexpr explicit dot(int axis, dot_options const& options_ = {}) : dot(axis_list(axis), options_) {}
  constexpr explicit dot(int const (&each)[2], dot_options const& options_ = {})
      : dot(axis_list(each[0], each[1]), options_) {}
  using argument_layer::argument_layer;

  constexpr auto call(auto& ops, auto a, auto b) const {
    int const of_b = axes.axes[axes.count - 1];
    bool const fits =
        axes.count < 3 && is_axis(a, axes.axes[0]) && is_axis(b, of_b) && a.shape()[axes.axes[0]] == b.shape()[of_b];
    if (!fits) {
      ops.error(1074, "multiplies along axes ", axes, " of inputs of shapes ", detail::sample_shape(a), " and ",
                detail::sample_shape(b), "; they must exist, not be the batch, and have one length");
      return a;
    }
    auto const left = axis_last(ops, a, axes.axes[0]), right = axis_last(ops, b, of_b);
    auto const product = ops.matmul(left.rows, right.rows, {.transpose_b = true});
    auto result = left.others;
    for (int axis = 1; axis < right.others.rank; ++axis) result.push_back(right.others[axis]);
    if (result.rank == 1) result.push_back(1);
    return ops.reshape(product, result);
  }

 private:
  static constexpr bool is_axis(auto x, int axis) {
    return x.rank() <= axis_list::capacity && x.shape().has(axis) && x.shape().from_front(axis) > 0;
  }
  /// x as (batch, other axes together, axis), and the extents of the batch and the other axes.
  constexpr auto axis_last(auto& ops, auto x, int axis) const {
    struct {
      decltype(x) rows;
      operations::extents others;
    } result{x, x.shape()};
    int const along = x.shape().from_front(axis), length = x.length(axis);
    if (options.normalize) x *= rsqrt(stagecraft::maximum(ops.sum(square(x), along), 1e-12F));
    axis_list order(0);
    for (int i = 1; i < x.rank(); ++i)
      if (i != along) order.axes[order.count++] = i;
    order.axes[order.count++] = along;
    result.others.erase(along);
    int const others = static_cast<int>(result.others.size() / x.length(0));
    result.rows = ops.reshape(ops.transpose(x, order), {x.length(0), others, length});
    return result;
  }
};

}  // namespace stagecraft::layers
