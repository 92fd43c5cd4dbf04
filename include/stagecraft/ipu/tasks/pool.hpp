// SPDX-License-Identifier: BSD-3-Clause
// Pooling, interpolation and their gradients over the fields of a batch, as popnn has them: how a field is cut into
// boxes for the tiles of an IPU, and what that costs.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/dtype.hpp>
#include <stagecraft/ipu/cycles/integers.hpp>
#include <stagecraft/ipu/steps/lowered_step.hpp>
#include <stagecraft/ipu/steps/operation_cost.hpp>
#include <stagecraft/ipu/steps/pool_work.hpp>
#include <stagecraft/ipu/steps/step_layout.hpp>
#include <stagecraft/machines/ipu_target.hpp>
#include <cstdint>
#include <initializer_list>

namespace stagecraft::tiles {

/// Tries ways to cut samples, channels (in vectors of the data path) and rows, and cuts the columns for the tiles that
/// are left; keeps the way with the least estimate of what a tile receives and computes.
class pool_splitter {
 public:
  constexpr pool_splitter(pool_work const& work, dtype type, ipu_target const& target) noexcept
      : best_(work), type_(type), target_(target), width_(target.vector_width(type)) {}

  constexpr pool_work const& split() {
    std::int64_t const batch = best_.extent(0), least = ceil_div(batch, target_.tiles_per_ipu);
    std::int64_t before = 0;
    for (std::int64_t const samples : {least, least + 1, 2 * least, 3 * least}) {
      std::int64_t const part = smaller(samples, batch);
      if (part != before) split_channels(part);
      before = part;
    }
    return best_;
  }

 private:
  constexpr void split_channels(std::int64_t samples) {
    std::int64_t const free = target_.tiles_per_ipu / ceil_div(best_.extent(0), samples);
    std::int64_t const vectors = ceil_div(best_.extent(3), width_);
    std::int64_t before = 0;
    for (std::int64_t parts = 1; parts < 2 * vectors && parts < 2 * free; parts *= 2)
      for (std::int64_t const some : {parts, parts + parts / 2}) {
        std::int64_t const each = ceil_div(vectors, smaller(smaller(some, vectors), free));
        if (each == before) continue;
        before = each;
        split_rows(samples, smaller(each * width_, best_.extent(3)), free / ceil_div(vectors, each));
      }
  }
  constexpr void split_rows(std::int64_t samples, std::int64_t channels, std::int64_t free) {
    std::int64_t const rows = best_.extent(1), columns = best_.extent(2);
    for (std::int64_t parts = 1; parts <= free && parts <= rows;) {
      std::int64_t const each = ceil_div(rows, parts);
      consider({samples, each, ceil_div(columns, smaller(free / ceil_div(rows, each), columns)), channels});
      if (each == 1) break;
      parts = ceil_div(rows, each - 1);  // the next number that makes parts smaller
    }
  }

  struct extents {
    std::int64_t of[4];
  };
  constexpr void consider(extents const& part) {
    std::int64_t const cycles = estimate(part);
    if (least_ >= 0 && cycles >= least_) return;
    least_ = cycles;
    for (int axis = 0; axis < 4; ++axis) best_.part[axis] = part.of[axis];
  }
  /// The cost of a part in the middle of the field, or of the last one along the rows, whichever is larger.
  [[nodiscard]] constexpr std::int64_t estimate(extents const& part) const {
    std::int64_t const last = best_.extent(1) - (ceil_div(best_.extent(1), part.of[1]) - 1) * part.of[1];
    std::int64_t const received = part.of[0] * part.of[3] * needed(best_.shape.rows, part.of[1]) *
                                  needed(best_.shape.columns, part.of[2]) * size_of(type_);
    std::int64_t const computed = larger(estimate_of_rows(part, part.of[0] * part.of[1]),
                                         last == part.of[1] ? 0 : estimate_of_rows(part, part.of[0] * last));
    return computed + received / 4;
  }
  /// Cycles of popnn's vertices, by the order in which they go over windows and rows: a worker has a share of the
  /// outputs, in pieces of rows if there is not the same number of rows for each.
  [[nodiscard]] constexpr std::int64_t estimate_of_rows(extents const& part, std::int64_t rows) const {
    int const workers = target_.num_worker_contexts;
    std::int64_t const share = ceil_div(rows * part.of[2], workers);
    std::int64_t const runs = rows % workers == 0 ? rows / workers : (share + part.of[2] - 2) / part.of[2] + 1;
    std::int64_t const vectors = ceil_div(part.of[3], width_);
    return workers * best_.visits() * (runs * (25 + 7 * vectors) + 3 * vectors * share);
  }
  [[nodiscard]] constexpr std::int64_t needed(pool_axis const& axis, std::int64_t count) const {
    switch (best_.function) {
      case pool_function::max_gradient:
      case pool_function::average_gradient: return smaller((count + axis.window - 2) / axis.stride + 1, axis.output);
      case pool_function::bilinear: return smaller(count / axis.stride + 2, axis.input);
      case pool_function::bilinear_gradient: return smaller((count + 1) * axis.stride, axis.output);
      default: return smaller((count - 1) * axis.stride + axis.window, axis.input);
    }
  }

  pool_work best_;
  dtype type_;
  ipu_target target_;
  std::int64_t width_;
  std::int64_t least_ = -1;
};

/// The result is cut into boxes for the tiles of `target`. Each tile receives what it needs for its box, computes it
/// and sends it to where it lies.
[[nodiscard]] constexpr pool_work split_pool(pool_function function, pool_shape const& shape, dtype type,
                                             ipu_target const& target) {
  return pool_splitter({.function = function, .shape = shape}, type, target).split();
}
/// Inputs and outputs, all of one type but the numbers of cells, which have shape.position_bytes() elements of uint8
/// for each window, the lowest byte first:
/// - max: x -> y, or y and numbers of cells
/// - average, sum, bilinear: x -> y
/// - max_gradient: numbers of cells, dy -> dx
/// - average_gradient, bilinear_gradient: dy -> dx
constexpr void append_pool(lowered_step& step, pool_function function, std::initializer_list<int> inputs,
                           std::initializer_list<int> outputs, pool_shape const& shape, ipu_target const& target) {
  step.add(split_pool(function, shape, step.tensors[*outputs.begin()].type, target), inputs, outputs);
}

/// Elements of a task's input for each element that a tile needs, or of an output for each that it makes.
[[nodiscard]] constexpr std::int64_t pool_elements_each(tile_tensor const& tensor, pool_work const& work) noexcept {
  return tensor.type == dtype::uint8 ? work.shape.position_bytes() : 1;
}

/// Elements for which every tile has room: as many of an input or output as the tile with most needs.
[[nodiscard]] constexpr std::int64_t pool_input_room(lowered_step const& step, task const& task, pool_work const& work,
                                                     int input) noexcept {
  return work.most_needed() * pool_elements_each(step.input_of(task, input), work);
}
[[nodiscard]] constexpr std::int64_t pool_output_room(lowered_step const& step, task const& task, pool_work const& work,
                                                      int output) noexcept {
  return work.result_of(0).elements() * pool_elements_each(step.output_of(task, output), work);
}

[[nodiscard]] constexpr operation_cost cost_of(lowered_step const& step, task const& task, pool_work const& work,
                                               ipu_target const& target) {
  operation_cost cost;
  std::int64_t received = 0, sent = 0;
  for (int i = 0; i < task.input_count; ++i) {
    std::int64_t const bytes = pool_input_room(step, task, work, i) * size_of(step.input_of(task, i).type);
    received += bytes;
    cost.temporary_bytes += rounded_bytes(bytes);
  }
  for (int i = 0; i < task.output_count; ++i) {
    auto const& output = step.output_of(task, i);
    sent += tile_mapping(output, target).elements_of(0) * size_of(output.type);
    cost.temporary_bytes += rounded_bytes(pool_output_room(step, task, work, i) * size_of(output.type));
  }
  cost.add_exchange(target, received);
  cost.add_compute_set(work.most_cycles(step.output_of(task).type, target));
  cost.add_exchange(target, sent);
  pool_box whole;
  for (int axis = 0; axis < 4; ++axis) whole.axes[axis] = {0, work.extent(axis)};
  cost.flops = work.flops(whole);
  return cost;
}

}  // namespace stagecraft::tiles
