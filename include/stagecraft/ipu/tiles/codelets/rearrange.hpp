// SPDX-License-Identifier: BSD-3-Clause
// Carries out copies of elements to other places of a tensor on an emulated IPU.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/tasks/rearrange.hpp>
#include <stagecraft/ipu/tiles/tile_machine.hpp>
#include <stagecraft/ipu/vertices/vertex_work.hpp>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace stagecraft::tiles {

/// Brings those elements of the input to a tile that its elements of the box are, in the result's order.
inline tile_view receive_box(tile_machine& machine, task const& task, rearranged_box const& box, int tile) {
  auto const mapping = machine.mapping(task.outputs[0]);
  std::int64_t const first = mapping.first(tile), last = mapping.last(tile);
  std::int64_t const count = box.elements_before(last) - box.elements_before(first);
  if (count == 0) return {};
  tile_view const copy = machine.allocate(tile, count, machine.step().output_of(task).type);
  std::int64_t at = 0, begin = 0, run = 0;  // a run lies in one piece in the input
  for (std::int64_t element = first; element < last; ++element) {
    std::int64_t const source = box.source_of(element);
    if (source < 0) continue;
    if (run > 0 && source != begin + run) {
      machine.receive(copy, at, task.inputs[0], begin, run);
      at += run;
      run = 0;
    }
    if (run == 0) begin = source;
    ++run;
  }
  machine.receive(copy, at, task.inputs[0], begin, run);
  return copy;
}

/// Brings each element of the input once that a piece of the result needs, and notes where each lies in the copy.
class repeated_copy {
 public:
  repeated_copy(tile_machine& machine, task const& task, repeated_field const& field, int tile)
      : field_(field), input_(task.inputs[0]) {
    auto const mapping = machine.mapping(task.outputs[0]);
    std::int64_t const first = mapping.first(tile), last = mapping.last(tile);
    copy_ = machine.allocate(tile, field.received(first, last), machine.step().output_of(task).type);
    auto const [begin, end] = field.pieces_of(first, last);
    receive(machine, first, begin);
    receive(machine, begin, end);
    receive(machine, end, last);
  }

  /// The value of the result's element `index` on the tile.
  [[nodiscard]] float operator[](std::int64_t index) const { return copy_[places_[index]]; }

 private:
  void receive(tile_machine& machine, std::int64_t first, std::int64_t last) {
    std::unordered_map<std::int64_t, std::int64_t> known;
    for (std::int64_t element = first; element < last; ++element) {
      std::int64_t const source = field_.source_of(element);
      auto const [place, is_new] = known.emplace(source, received_);
      if (is_new) machine.receive(copy_, received_++, input_, source, 1);
      places_.push_back(place->second);
    }
  }

  repeated_field field_;
  int input_;
  tile_view copy_;
  std::int64_t received_ = 0;
  std::vector<std::int64_t> places_;
};

inline void run(tile_machine& machine, task const& task, repeated_field const& field) {
  int const output = task.outputs[0], tiles = machine.mapping(output).tiles_used();
  std::vector<repeated_copy> copies;
  for (int tile = 0; tile < tiles; ++tile) copies.emplace_back(machine, task, field, tile);
  machine.end_exchange();
  machine.compute_set(
      "repeat", tiles,
      [&](int tile) {
        auto const& result = machine.home(output, tile);
        return vertex_work{rearrange_cycles(machine.target(), result.type(), result.size()), 0};
      },
      [&](int tile) {
        auto const& result = machine.home(output, tile);
        for (std::int64_t i = 0; i < result.size(); ++i) result.set(i, copies[tile][i]);
      });
}

inline void run(tile_machine& machine, task const& task, rearrangement const& what) {
  auto const& box = what.box;
  bool const clears = what.function == rearrange_function::copy_and_clear;
  int const output = task.outputs[0];
  auto const mapping = machine.mapping(output);
  std::vector<tile_view> copies;
  for (int tile = 0; tile < mapping.tiles_used(); ++tile) copies.push_back(receive_box(machine, task, box, tile));
  machine.end_exchange();
  machine.compute_set(
      "rearrange", mapping.tiles_used(),
      [&](int tile) {
        std::int64_t const written = clears ? mapping.elements_of(tile) : copies[tile].size();
        return vertex_work{rearrange_cycles(machine.target(), machine.home(output, tile).type(), written), 0};
      },
      [&](int tile) {
        auto const& result = machine.home(output, tile);
        auto const& copy = copies[tile];
        std::int64_t at = 0;
        // If nothing is cleared, the search ends with the box, since each trip of a loop has a box of its own.
        for (std::int64_t i = 0; i < result.size() && (clears || at < copy.size()); ++i)
          if (box.source_of(mapping.first(tile) + i) >= 0)
            result.set(i, copy[at++]);
          else if (clears)
            result.set(i, 0);
      });
}

}  // namespace stagecraft::tiles
