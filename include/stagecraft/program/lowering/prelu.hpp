// SPDX-License-Identifier: BSD-3-Clause
// Lowering of prelu. Level 4.
#pragma once

#include <stagecraft/ipu/operations/map.hpp>
#include <stagecraft/ipu/operations/rearrange.hpp>
#include <stagecraft/ipu/operations/reduce.hpp>
#include <stagecraft/layers/prelu.hpp>
#include <stagecraft/program/lowering/lowering.hpp>
#include <stagecraft/program/lowering/weight.hpp>
#include <cstdint>

namespace stagecraft {

namespace detail {

/// Axes of a batch, the outermost first, along which slopes are shared and not by turns. The batch is the first, which
/// shares; neighbours of one kind are one axis.
struct slope_axes {
  static constexpr int most = 10;

  int count = 1;
  std::int64_t length[most]{1};

  constexpr slope_axes(int batch, shape const& values, shape const& slopes) {
    length[0] = batch;
    for (int axis = 0; axis < values.rank(); ++axis) {
      if (values[axis] == 1) continue;
      if ((slopes[axis] == 1) != shares(count - 1)) length[count++] = 1;
      length[count - 1] *= values[axis];
    }
  }
  [[nodiscard]] static constexpr bool shares(int axis) { return axis % 2 == 0; }
  /// Elements from axis `first` to before axis `last`.
  [[nodiscard]] constexpr std::int64_t size(int first, int last) const {
    std::int64_t result = 1;
    for (int axis = first; axis < last; ++axis) result *= length[axis];
    return result;
  }
  /// Slopes that belong to these axes.
  [[nodiscard]] constexpr std::int64_t slopes(int first) const {
    std::int64_t result = 1;
    for (int axis = first; axis < count; ++axis) result *= shares(axis) ? 1 : length[axis];
    return result;
  }
};

/// How the elements read their slopes, which are repeated first along shared axes that lie between others.
template <class Call>
constexpr map_operand append_slopes(lowered_step& step, slope_axes const& axes) {
  int slopes = append_weight<Call>(step, 0);
  for (int axis = 2; axis + 1 < axes.count; axis += 2) {
    std::int64_t const before = axes.size(1, axis), behind = axes.slopes(axis + 1);
    int const repeated = step.temporary(before * axes.length[axis] * behind, Call::type);
    append_repeat(step, slopes, repeated, {.rows = before, .channels = behind, .across = axes.length[axis]});
    slopes = repeated;
  }
  int const end = slope_axes::shares(axes.count - 1) && axes.count > 1 ? axes.count - 1 : axes.count;
  return {slopes, axes.count == 1 ? axes.length[0] : axes.size(end, axes.count), axes.size(1, end)};
}

/// The sum over all shared axes, one after the other.
constexpr void append_slope_sums(lowered_step& step, slope_axes const& axes, int products, int gradient) {
  std::int64_t outer = 1;
  for (int axis = 0; axis < axes.count; axis += 2) {
    std::int64_t const inner = axes.size(axis + 1, axes.count);
    bool const is_last = axis + 2 >= axes.count;
    int const sums = is_last ? gradient : step.temporary(outer * inner, dtype::float32);
    append_reduce(step, reduce_function::sum, {products}, sums, outer, axes.length[axis], inner);
    products = sums;
    if (axis + 1 < axes.count) outer *= axes.length[axis + 1];
  }
}

}  // namespace detail

template <>
struct lowering<layers::prelu> {
  template <class Call>
  static constexpr detail::slope_axes axes{Call::batch, Call::output_shape(),
                                           Call::layer.alpha_shape(Call::output_shape())};

  template <class Call>
  static constexpr void forward(lowered_step& step) {
    auto const slopes = detail::append_slopes<Call>(step, axes<Call>);
    append_map(step, map_function::prelu, Call::output(step), {{Call::input(step)}, slopes});
  }
  template <class Call>
  static constexpr void backward(lowered_step& step) {
    int const x = Call::input(step), dy = Call::output_gradient(step);
    if (Call::parameter_info(0).trainable) {
      int const products = step.temporary(Call::output_elements(), Call::type);
      append_map(step, map_function::prelu_slope_gradient, products, {{x}, {dy}});
      detail::append_slope_sums(step, axes<Call>, products, Call::weight_gradient(step, 0));
    }
    if (!Call::wants_input_gradient(0)) return;
    auto const slopes = detail::append_slopes<Call>(step, axes<Call>);
    append_map(step, map_function::prelu_gradient, Call::input_gradient(step), {{x}, slopes, {dy}});
  }
};

}  // namespace stagecraft
