// SPDX-License-Identifier: BSD-3-Clause
// A box of a field in the memory of one tile.
#pragma once

#include <stagecraft/ipu/steps/pool_work.hpp>
#include <stagecraft/ipu/tiles/tile_machine.hpp>
#include <cstdint>

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
  /// Calls visit(place in the copy, element of the tensor, elements) for what lies behind each other in both.
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

}  // namespace stagecraft::tiles
