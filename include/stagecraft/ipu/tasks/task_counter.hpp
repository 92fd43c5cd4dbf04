// SPDX-License-Identifier: BSD-3-Clause
// Walks the schedule of a task to count what it costs. A schedule is a template, `walk(on, what)`, that allocates
// copies, receives, computes and sends; ipu/tiles/codelets/task_runner.hpp walks the same schedule on emulated tiles.
// Tasks on rows and updates have one. Other kinds have a `cost_of` and a `run` of their own: to evaluate 300 costs of
// rows, GCC takes 8.2 % more operations with a schedule than without, and Clang 0.9 % more steps.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/steps/lowered_step.hpp>
#include <stagecraft/ipu/steps/operation_cost.hpp>
#include <stagecraft/ipu/steps/step_layout.hpp>
#include <stagecraft/ipu/steps/tile_mapping.hpp>
#include <stagecraft/ipu/vertices/vertex_work.hpp>
#include <cstdint>

namespace stagecraft::tiles {

/// Counts in constant evaluation: of each exchange, the bytes of tile 0, which receives most.
class task_counter {
 public:
  /// What a schedule passes around instead of memory on tiles.
  struct memory {};

  lowered_step const& step_;
  task const& task_;
  ipu_target const& target_;
  operation_cost cost{};
  std::int64_t received_ = 0;

  [[nodiscard]] constexpr lowered_step const& step() const { return step_; }
  [[nodiscard]] constexpr task const& current() const { return task_; }
  [[nodiscard]] constexpr ipu_target const& target() const { return target_; }

  /// `elements` elements on each of the first `tiles` tiles, until the task ends.
  constexpr memory allocate(int tiles, std::int64_t elements, dtype type) {
    if (tiles > 0) cost.temporary_bytes += rounded_bytes(elements * size_of(type));
    return {};
  }
  /// An element for each thing that a tile has a share of.
  constexpr memory allocate(equal_shares const& shares, dtype type) {
    return allocate(shares.tiles_used(), shares.of(0), type);
  }
  /// The pieces of a tensor of the step where they lie, on the first `tiles` tiles.
  constexpr memory home(int, int) { return {}; }
  /// Copies of an input, `width` elements for each thing that a tile has: `runs(tile, width, move)` calls
  /// `move(at, first, count)` for elements of the tensor from `first` on.
  template <class Runs>
  constexpr memory receive(equal_shares const& shares, int input, std::int64_t width, Runs const&) {
    add_copy(shares.of(0) * width * size_of(step_.input_of(task_, input).type));
    return {};
  }
  /// Each tile sends the elements of its copy to the tiles where the output's elements lie; `runs` as in receive.
  template <class Runs>
  constexpr void send(memory const&, int output, std::int64_t, Runs const&) {
    auto const& result = step_.output_of(task_, output);
    received_ += tile_mapping(result, target_).elements_of(0) * size_of(result.type);
  }
  /// Tile 0 receives one number from each of the first `tiles` tiles.
  constexpr memory gather(memory const&, int tiles) {
    add_copy(tiles * size_of(dtype::float32));
    return {};
  }
  constexpr void end_exchange() {
    cost.add_exchange(target_, received_);
    received_ = 0;
  }
  /// A vertex on each tile that has a share: `work(things)` is what it costs, `run(machine, tile)` what it does.
  template <class Work, class Run>
  constexpr void compute_set(char const*, equal_shares const& shares, Work const& work, Run const&) {
    add_compute_set(cost, shares, work);
  }

 private:
  constexpr void add_copy(std::int64_t bytes) {
    received_ += bytes;
    cost.temporary_bytes += rounded_bytes(bytes);
  }
};

/// Tile 0 receives the numbers that tiles have found, in the exchange that has begun, and adds them up, to the task's
/// first result, or to its square root.
template <class Walk>
constexpr void add_up_tiles(Walk& on, typename Walk::memory const& sums, int tiles, vertex_work const& work,
                            bool is_root = false) {
  auto const all = on.gather(sums, tiles);
  on.end_exchange();
  on.compute_set(
      "ReduceAdd", equal_shares(1, std::int64_t{1}), [&](std::int64_t) { return work; },
      [&](auto& machine, int) { add_numbers(machine, on.current(), all, is_root); });
}

}  // namespace stagecraft::tiles
