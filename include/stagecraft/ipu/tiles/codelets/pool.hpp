// SPDX-License-Identifier: BSD-3-Clause
// Carries out pooling, interpolation and their gradients on an emulated IPU.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/steps/pool_work.hpp>
#include <stagecraft/ipu/tasks/pool.hpp>
#include <stagecraft/ipu/tiles/tile_machine.hpp>
#include <stagecraft/ipu/vertices/vertex_work.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace stagecraft::tiles {

/// An element of the fields of a batch.
struct pool_place {
  std::int64_t sample = 0;
  std::int64_t row = 0;
  std::int64_t column = 0;
  std::int64_t channel = 0;
};

struct pool_field {
  std::int64_t height = 1;
  std::int64_t width = 1;
  std::int64_t channels = 1;
};

/// A tile's copy of a box of a tensor (or of the numbers of cells, several bytes for each element), with room for the
/// largest box.
class pool_copy {
 public:
  pool_copy(tile_machine& machine, int tensor, pool_box const& box, std::int64_t room, std::int64_t elements_each,
            int tile)
      : tensor_(tensor),
        box_(box),
        each_(elements_each),
        view_(machine.allocate(tile, room, machine.step().tensors[tensor].type)) {}

  void receive(tile_machine& machine, pool_field const& field) const {
    for_each_run(field, [&](std::int64_t at, std::int64_t element, std::int64_t count) {
      machine.receive(view_, at, tensor_, element, count);
    });
  }
  void send(tile_machine& machine, pool_field const& field) const {
    for_each_run(field, [&](std::int64_t at, std::int64_t element, std::int64_t count) {
      machine.send(view_, at, tensor_, element, count);
    });
  }

  [[nodiscard]] float operator[](pool_place const& place) const { return view_[index(place)]; }
  void set(pool_place const& place, float value) const { view_.set(index(place), value); }

  /// The number of a cell, the lowest byte first.
  [[nodiscard]] std::int64_t number(pool_place const& place) const {
    std::int64_t result = 0;
    for (std::int64_t i = each_ - 1; i >= 0; --i)
      result = result * 256 + static_cast<std::int64_t>(view_[index(place) * each_ + i]);
    return result;
  }
  void set_number(pool_place const& place, std::int64_t number) const {
    for (std::int64_t i = 0; i < each_; ++i, number /= 256)
      view_.set(index(place) * each_ + i, static_cast<float>(number % 256));
  }

 private:
  [[nodiscard]] std::int64_t index(pool_place const& place) const {
    auto const& axes = box_.axes;
    return (((place.sample - axes[0].first) * axes[1].count() + place.row - axes[1].first) * axes[2].count() +
            place.column - axes[2].first) *
               axes[3].count() +
           place.channel - axes[3].first;
  }
  /// Calls visit(place in the copy, element of the tensor, elements) for elements that lie one after the other in both.
  template <class Visit>
  void for_each_run(pool_field const& field, Visit const& visit) const {
    auto const& axes = box_.axes;
    bool const whole_pixels = axes[3].count() == field.channels;
    std::int64_t const runs = whole_pixels ? 1 : axes[2].count();
    std::int64_t const length = (whole_pixels ? axes[2].count() : 1) * axes[3].count();
    if (length == 0) return;
    std::int64_t at = 0;
    for (std::int64_t sample = axes[0].first; sample < axes[0].last; ++sample)
      for (std::int64_t row = axes[1].first; row < axes[1].last; ++row)
        for (std::int64_t run = 0; run < runs; ++run, at += length)
          visit(at * each_,
                (((sample * field.height + row) * field.width + axes[2].first + run) * field.channels + axes[3].first) *
                    each_,
                length * each_);
  }

  int tensor_;
  pool_box box_;
  std::int64_t each_;
  tile_view view_;
};

/// The part of a pool task's result that one tile makes. Sums are added up in the host's order.
class pool_vertex {
 public:
  pool_vertex(tile_machine& machine, task const& task, pool_work const& work, int tile)
      : work_(work), result_(work.result_of(tile)), needed_(work.needed(result_)) {
    for (int i = 0; i < task.input_count; ++i)
      inputs_.emplace_back(machine, task.inputs[i], needed_, pool_input_room(machine.step(), task, work, i),
                           pool_elements_each(machine.step().input_of(task, i), work), tile);
    for (int i = 0; i < task.output_count; ++i)
      outputs_.emplace_back(machine, task.outputs[i], result_, pool_output_room(machine.step(), task, work, i),
                            pool_elements_each(machine.step().output_of(task, i), work), tile);
    for (auto const& input : inputs_) input.receive(machine, field_of_inputs());
  }

  [[nodiscard]] pool_box const& result() const { return result_; }

  void send(tile_machine& machine) const {
    for (auto const& output : outputs_) output.send(machine, {work_.extent(1), work_.extent(2), work_.extent(3)});
  }

  void run() const {
    for (std::int64_t sample = result_.axes[0].first; sample < result_.axes[0].last; ++sample)
      for (std::int64_t row = result_.axes[1].first; row < result_.axes[1].last; ++row)
        for (std::int64_t column = result_.axes[2].first; column < result_.axes[2].last; ++column)
          for (std::int64_t channel = result_.axes[3].first; channel < result_.axes[3].last; ++channel)
            element({sample, row, column, channel});
  }

 private:
  [[nodiscard]] pool_field field_of_inputs() const {
    auto const& rows = work_.shape.rows;
    auto const& columns = work_.shape.columns;
    return {work_.is_gradient() ? rows.output : rows.input, work_.is_gradient() ? columns.output : columns.input,
            work_.shape.channels};
  }

  void element(pool_place const& at) const {
    switch (work_.function) {
      case pool_function::max: return largest(at);
      case pool_function::average:
      case pool_function::sum: return sum(at);
      case pool_function::max_gradient: return outputs_[0].set(at, largest_gradient(at));
      case pool_function::average_gradient: return outputs_[0].set(at, average_gradient(at));
      case pool_function::bilinear: return outputs_[0].set(at, between(at));
      default: return outputs_[0].set(at, between_gradient(at));
    }
  }

  /// The inputs of a window.
  [[nodiscard]] static pool_range cells(pool_axis const& axis, std::int64_t window) {
    return axis.inputs_of({window, window + 1});
  }
  /// Calls visit(place in the input, number of the cell in its window) for a window's cells.
  template <class Visit>
  void for_each_cell(pool_place const& window, Visit const& visit) const {
    auto const& rows = work_.shape.rows;
    auto const& columns = work_.shape.columns;
    auto const height = cells(rows, window.row), width = cells(columns, window.column);
    for (std::int64_t row = height.first; row < height.last; ++row)
      for (std::int64_t column = width.first; column < width.last; ++column)
        visit(pool_place{window.sample, row, column, window.channel},
              (row - window.row * rows.stride + rows.before) * columns.window + column -
                  window.column * columns.stride + columns.before);
  }

  // The first NaN wins, which is larger than any number; of equal values the first wins.
  void largest(pool_place const& at) const {
    float most = 0;
    std::int64_t position = -1;
    for_each_cell(at, [&](pool_place const& cell, std::int64_t number) {
      float const value = inputs_[0][cell];
      if (position < 0 || most < value || (value != value && most == most)) {
        most = value;
        position = number;
      }
    });
    outputs_[0].set(at, most);
    if (outputs_.size() > 1) outputs_[1].set_number(at, position);
  }
  void sum(pool_place const& at) const {
    float result = 0;
    int count = 0;
    for_each_cell(at, [&](pool_place const& cell, std::int64_t) {
      result += inputs_[0][cell];
      ++count;
    });
    outputs_[0].set(at, work_.function == pool_function::sum ? result : result * (1.0F / static_cast<float>(count)));
  }

  /// Calls visit(window, its place) for the windows that cover an input.
  template <class Visit>
  void for_each_window(pool_place const& input, Visit const& visit) const {
    auto const height = work_.shape.rows.windows_of({input.row, input.row + 1});
    auto const width = work_.shape.columns.windows_of({input.column, input.column + 1});
    for (std::int64_t row = height.first; row < height.last; ++row)
      for (std::int64_t column = width.first; column < width.last; ++column)
        visit(pool_place{input.sample, row, column, input.channel});
  }
  [[nodiscard]] float largest_gradient(pool_place const& at) const {
    auto const& rows = work_.shape.rows;
    auto const& columns = work_.shape.columns;
    float result = 0;
    for_each_window(at, [&](pool_place const& window) {
      std::int64_t const number = (at.row - window.row * rows.stride + rows.before) * columns.window + at.column -
                                  window.column * columns.stride + columns.before;
      if (inputs_[0].number(window) == number) result += inputs_[1][window];
    });
    return result;
  }
  [[nodiscard]] float average_gradient(pool_place const& at) const {
    float result = 0;
    for_each_window(at, [&](pool_place const& window) {
      std::int64_t const count =
          cells(work_.shape.rows, window.row).count() * cells(work_.shape.columns, window.column).count();
      result = std::fma(1.0F / static_cast<float>(count), inputs_[0][window], result);
    });
    return result;
  }

  [[nodiscard]] float between(pool_place const& at) const {
    auto const row = work_.shape.rows.place_of(at.row);
    auto const column = work_.shape.columns.place_of(at.column);
    auto const across = [&](std::int64_t y) {
      float const left = inputs_[0][{at.sample, y, column.lower, at.channel}];
      float const right = inputs_[0][{at.sample, y, column.upper, at.channel}];
      return std::fma(right - left, column.weight, left);
    };
    float const above = across(row.lower), below = across(row.upper);
    return std::fma(below - above, row.weight, above);
  }
  [[nodiscard]] float between_gradient(pool_place const& at) const {
    auto const height = work_.shape.rows.outputs_beside({at.row, at.row + 1});
    auto const width = work_.shape.columns.outputs_beside({at.column, at.column + 1});
    float result = 0;
    for (std::int64_t row = height.first; row < height.last; ++row) {
      auto const y = work_.shape.rows.place_of(row);
      if (y.lower != at.row && y.upper != at.row) continue;
      for (std::int64_t column = width.first; column < width.last; ++column) {
        auto const x = work_.shape.columns.place_of(column);
        if (x.lower != at.column && x.upper != at.column) continue;
        result = std::fma(y.share_of(at.row) * x.share_of(at.column), inputs_[0][{at.sample, row, column, at.channel}],
                          result);
      }
    }
    return result;
  }

  pool_work work_;
  pool_box result_, needed_;
  std::vector<pool_copy> inputs_, outputs_;
};

inline void run(tile_machine& machine, task const& task, pool_work const& work) {
  auto const type = machine.step().output_of(task).type;
  std::vector<pool_vertex> vertices;
  for (int tile = 0; tile < work.tiles(); ++tile) vertices.emplace_back(machine, task, work, tile);
  machine.end_exchange();
  machine.compute_set(
      "pool", work.tiles(),
      [&](int tile) {
        auto const& result = vertices[tile].result();
        return vertex_work{work.cycles(result, type, machine.target()), work.flops(result)};
      },
      [&](int tile) { vertices[tile].run(); });
  for (auto const& vertex : vertices) vertex.send(machine);
  machine.end_exchange();
}

}  // namespace stagecraft::tiles
