// SPDX-License-Identifier: BSD-3-Clause
// Which part of a pooled field each tile makes, what it needs for that, and how long it takes: windows along the axes
// of a field, and places between its elements.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/cycles/elementwise.hpp>
#include <stagecraft/ipu/cycles/integers.hpp>
#include <stagecraft/ipu/cycles/pooling.hpp>
#include <stagecraft/ipu/cycles/scaled_add.hpp>
#include <stagecraft/machines/ipu_target.hpp>
#include <cstdint>

namespace stagecraft::tiles {

/// Numbers from `first` to below `last`; none if `last` is not above `first`.
struct pool_range {
  std::int64_t first = 0;
  std::int64_t last = 0;

  [[nodiscard]] constexpr std::int64_t count() const noexcept { return larger(last - first, 0); }
};

/// Window i covers the inputs from i * stride - before on; those that are not there do not count.
/// Interpolation between `input` elements has stride times as many outputs, each between two of them.
struct pool_axis {
  std::int64_t input = 1;
  std::int64_t window = 1;
  std::int64_t stride = 1;
  std::int64_t before = 0;
  std::int64_t output = 1;

  /// An axis that is interpolated: it becomes longer by a whole factor.
  [[nodiscard]] static constexpr pool_axis interpolated(std::int64_t input, std::int64_t factor) noexcept {
    return {.input = input, .stride = factor, .output = input * factor};
  }

  /// The inputs that the windows of some outputs cover.
  [[nodiscard]] constexpr pool_range inputs_of(pool_range const& outputs) const noexcept {
    return {larger(outputs.first * stride - before, 0), smaller((outputs.last - 1) * stride - before + window, input)};
  }
  /// The windows that cover any of some inputs.
  [[nodiscard]] constexpr pool_range windows_of(pool_range const& inputs) const noexcept {
    std::int64_t const begin = inputs.first + before;
    return {begin < window ? 0 : (begin - window) / stride + 1,
            smaller((inputs.last - 1 + before) / stride + 1, output)};
  }
  /// The most windows that cover an input.
  [[nodiscard]] constexpr std::int64_t windows_of_input() const noexcept { return ceil_div(window, stride); }

  /// Between which inputs an output lies, and how much of the upper one is in it. TensorFlow's half-pixel centres, in
  /// the same arithmetic as on the host.
  struct place {
    std::int64_t lower = 0;
    std::int64_t upper = 0;
    float weight = 0;

    /// The share of an input in the output, from 0 to 1.
    [[nodiscard]] constexpr float share_of(std::int64_t index) const noexcept {
      return (lower == index ? 1.0F - weight : 0.0F) + (upper == index ? weight : 0.0F);
    }
  };
  [[nodiscard]] constexpr place place_of(std::int64_t index) const noexcept {
    float const scale = static_cast<float>(input) / static_cast<float>(output);
    float const at = (static_cast<float>(index) + 0.5F) * scale - 0.5F;
    std::int64_t const whole = at < 0 ? -1 : static_cast<std::int64_t>(at);  // rounded down: it is above -1
    std::int64_t const next = at > static_cast<float>(whole) ? whole + 1 : whole;
    return {larger(whole, 0), smaller(next, input - 1), at - static_cast<float>(whole)};
  }
  /// The inputs that some outputs lie between.
  [[nodiscard]] constexpr pool_range inputs_beside(pool_range const& outputs) const noexcept {
    return {place_of(outputs.first).lower, place_of(outputs.last - 1).upper + 1};
  }
  /// The outputs that lie beside any of some inputs; perhaps one more at each end where places are rounded.
  [[nodiscard]] constexpr pool_range outputs_beside(pool_range const& inputs) const noexcept {
    std::int64_t const more = (stride & (stride - 1)) == 0 ? 0 : 1;
    std::int64_t const begin = (2 * stride * inputs.first - stride + 1) / 2 - more;
    std::int64_t const end = (2 * stride * inputs.last + stride) / 2 + more;
    return {inputs.first == 0 ? 0 : larger(begin, 0), inputs.last == input ? output : smaller(end, output)};
  }
  /// The most outputs that lie beside an input.
  [[nodiscard]] constexpr std::int64_t outputs_beside_input() const noexcept { return 2 * stride - stride % 2; }
};

/// The functions of windows and places of a field.
enum class pool_function : std::int64_t {
  max,               ///< largest input of each window; perhaps also the number of its cell
  average,           ///< mean of each window's inputs
  sum,               ///< sum of each window's inputs
  max_gradient,      ///< the input's gradient, from the numbers of cells and the outputs' gradients
  average_gradient,  ///< the input's gradient, from the outputs' gradients
  bilinear,          ///< interpolation
  bilinear_gradient  ///< the input's gradient, from the outputs' gradients
};

/// Channels-last fields of a batch. A sequence is a field of height 1.
struct pool_shape {
  std::int64_t batch = 1;
  pool_axis rows{};
  pool_axis columns{};
  std::int64_t channels = 1;

  [[nodiscard]] constexpr std::int64_t input_elements() const noexcept {
    return batch * rows.input * columns.input * channels;
  }
  [[nodiscard]] constexpr std::int64_t output_elements() const noexcept {
    return batch * rows.output * columns.output * channels;
  }
  [[nodiscard]] constexpr std::int64_t window_cells() const noexcept { return rows.window * columns.window; }
  /// Bytes that hold a cell's number within its window, counted row by row.
  [[nodiscard]] constexpr int position_bytes() const noexcept {
    return window_cells() <= 1 << 8 ? 1 : window_cells() <= 1 << 16 ? 2 : 4;
  }
};

/// Samples, rows, columns and channels.
struct pool_box {
  pool_range axes[4]{};

  [[nodiscard]] constexpr std::int64_t elements() const noexcept {
    return axes[0].count() * axes[1].count() * axes[2].count() * axes[3].count();
  }
};

/// A pool task's result, cut into equal boxes for the tiles; the last ones along an axis may be smaller.
struct pool_work {
  pool_function function = pool_function::max;
  pool_shape shape{};
  std::int64_t part[4]{1, 1, 1, 1};  ///< extents of a box

  [[nodiscard]] constexpr bool is_gradient() const noexcept {
    return function == pool_function::max_gradient || function == pool_function::average_gradient ||
           function == pool_function::bilinear_gradient;
  }
  /// The extent of the result along an axis.
  [[nodiscard]] constexpr std::int64_t extent(int axis) const noexcept {
    switch (axis) {
      case 0: return shape.batch;
      case 1: return is_gradient() ? shape.rows.input : shape.rows.output;
      case 2: return is_gradient() ? shape.columns.input : shape.columns.output;
      default: return shape.channels;
    }
  }
  [[nodiscard]] constexpr std::int64_t parts(int axis) const noexcept { return ceil_div(extent(axis), part[axis]); }
  /// Tiles that have a part of the result.
  [[nodiscard]] constexpr int tiles() const noexcept {
    return static_cast<int>(parts(0) * parts(1) * parts(2) * parts(3));
  }

  [[nodiscard]] constexpr pool_range part_of(int axis, std::int64_t index) const noexcept {
    return {index * part[axis], smaller((index + 1) * part[axis], extent(axis))};
  }
  /// The part of the result that a tile computes. Neighbouring tiles have neighbouring channels, then columns, rows and
  /// samples.
  [[nodiscard]] constexpr pool_box result_of(int tile) const noexcept {
    pool_box box;
    std::int64_t rest = tile;
    for (int axis = 3; axis >= 0; --axis) {
      box.axes[axis] = part_of(axis, rest % parts(axis));
      rest /= parts(axis);
    }
    return box;
  }

  /// The range of the field along an axis that a tile needs for a range of the result.
  [[nodiscard]] constexpr pool_range needed(int axis, pool_range const& result) const noexcept {
    if (axis == 0 || axis == 3) return result;
    auto const& along = axis == 1 ? shape.rows : shape.columns;
    switch (function) {
      case pool_function::max_gradient:
      case pool_function::average_gradient: return along.windows_of(result);
      case pool_function::bilinear: return along.inputs_beside(result);
      case pool_function::bilinear_gradient: return along.outputs_beside(result);
      default: return along.inputs_of(result);
    }
  }
  [[nodiscard]] constexpr pool_box needed(pool_box const& result) const noexcept {
    pool_box box;
    for (int axis = 0; axis < 4; ++axis) box.axes[axis] = needed(axis, result.axes[axis]);
    return box;
  }
  /// Elements that the tile needs that needs most: the one which needs most along each axis.
  [[nodiscard]] constexpr std::int64_t most_needed() const noexcept {
    std::int64_t result = part_of(0, 0).count() * part_of(3, 0).count();
    for (int axis = 1; axis < 3; ++axis) {
      std::int64_t most = 0;
      for (std::int64_t i = 0; i < parts(axis); ++i) most = larger(most, needed(axis, part_of(axis, i)).count());
      result *= most;
    }
    return result;
  }

  /// Cells or windows that are looked at for an element of the result, at most.
  [[nodiscard]] constexpr std::int64_t visits() const noexcept {
    switch (function) {
      case pool_function::max_gradient:
      case pool_function::average_gradient: return shape.rows.windows_of_input() * shape.columns.windows_of_input();
      case pool_function::bilinear_gradient:
        return shape.rows.outputs_beside_input() * shape.columns.outputs_beside_input();
      case pool_function::bilinear: return 4;
      default: return shape.window_cells();
    }
  }

  /// Floating point operations for some of the result.
  [[nodiscard]] constexpr std::int64_t flops(pool_box const& result) const noexcept {
    std::int64_t const elements = result.elements();
    switch (function) {
      case pool_function::average:
      case pool_function::average_gradient: return elements * (visits() + 1);
      case pool_function::bilinear: return elements * 9;  // three interpolations of a difference and a scaled addition
      case pool_function::bilinear_gradient: return elements * 2 * visits();
      default: return elements * visits();
    }
  }

  /// Tile cycles for some of the result.
  /// - Windows, and gradients of windows: popnn's pooling vertices, all channels as one group. For a gradient, the
  /// field
  ///   is that of the result, and the elements of the window are those windows which may cover an element.
  /// - Interpolation: between columns above and below, then between rows, each time popops' a X + b Y.
  /// - Its gradient: as a sum over the outputs beside an element, each of which is multiplied with its share before.
  [[nodiscard]] constexpr std::int64_t cycles(pool_box const& result, dtype type, ipu_target const& target) const {
    std::int64_t const samples = result.axes[0].count(), channels = result.axes[3].count();
    std::int64_t const width = target.vector_width(type);
    vertices::pooling pooling{.data = type,
                              .field_rows = samples * result.axes[1].count(),
                              .row_elements = result.axes[2].count(),
                              .window_elements = visits(),
                              .chans_per_group = ceil_div(channels, width) * width};
    switch (function) {
      case pool_function::max: break;
      case pool_function::max_gradient: pooling.type = vertices::pooling_type::max_gradient; break;
      case pool_function::bilinear:
        return 3 * vertices::scaled_add{.operation = vertices::scaled_operation::ax_plus_by,
                                        .type = type,
                                        .other_type = type,
                                        .elements = result.elements()}
                       .cycles(target);
      default: pooling.type = vertices::pooling_type::sum;
    }
    std::int64_t cycles = pooling.cycles(target);
    if (function == pool_function::bilinear_gradient)
      cycles +=
          vertices::binary_op{vertices::binary_operation::multiply, type, result.elements() * visits()}.cycles(target);
    return cycles;
  }
  /// Cycles of the tile that takes longest: one whose part is whole along each axis, or the last, which need not be
  /// faster if workers have whole rows of a larger one.
  [[nodiscard]] constexpr std::int64_t most_cycles(dtype type, ipu_target const& target) const {
    std::int64_t most = 0;
    for (int choice = 0; choice < 16; ++choice) {
      pool_box box;
      bool is_new = true;
      for (int axis = 0; axis < 4; ++axis) {
        bool const last = (choice >> axis & 1) != 0;
        box.axes[axis] = part_of(axis, last ? parts(axis) - 1 : 0);
        if (last && box.axes[axis].count() == part_of(axis, 0).count()) is_new = false;
      }
      if (is_new) most = larger(most, cycles(box, type, target));
    }
    return most;
  }
};

}  // namespace stagecraft::tiles
