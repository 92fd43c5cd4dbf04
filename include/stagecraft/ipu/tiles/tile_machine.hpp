// SPDX-License-Identifier: BSD-3-Clause
// One emulated IPU while it carries out a lowered step: a memory for each tile, exchanges between them, and vertices
// that reach nothing but their own tile. Counts cycles and memory as they are used.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/steps/lowered_step.hpp>
#include <stagecraft/ipu/steps/operation_cost.hpp>
#include <stagecraft/ipu/steps/step_layout.hpp>
#include <stagecraft/ipu/steps/tile_mapping.hpp>
#include <stagecraft/ipu/tiles/tile_view.hpp>
#include <stagecraft/ipu/tiles/weight_places.hpp>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace stagecraft::tiles {

/// The numbers that a step finds at run time besides tensors.
struct step_values {
  std::uint64_t seed = 1;
  std::uint64_t step = 0;   ///< training steps so far: tells the dropout masks of two steps apart
  int call = 0;             ///< index in the graph: tells layers' random numbers apart
  int valid_samples = 0;    ///< the rest of the batch only fills it
  int accumulated = 0;      ///< micro-batches of this weight update before this one
  std::int64_t update = 1;  ///< number of the weight update, from 1
  float learning_rate = 0;
  float loss_scale = 1;  ///< the factor of the loss, if it changes
  float norms[5]{};      ///< that the weight's optimizer reads and that are not found on its tiles
};

/// Codelets are written against this class: first `receive` what the vertices of a compute set need from other tiles,
/// then `end_exchange`; then a `compute_set`, or a `vertex` on each tile that has work and `end_compute_set`; then
/// perhaps `send`, and `end_exchange`.
class tile_machine {
 public:
  /// `bytes` of memory for each tile.
  tile_machine(ipu_target const& target, std::int64_t bytes) : target_(target) {
    memories_.reserve(target.tiles_per_ipu);
    for (int tile = 0; tile < target.tiles_per_ipu; ++tile) memories_.emplace_back(tile, bytes);
  }

  [[nodiscard]] ipu_target const& target() const { return target_; }
  [[nodiscard]] int tiles() const { return target_.tiles_per_ipu; }
  [[nodiscard]] lowered_step const& step() const { return *step_; }
  [[nodiscard]] step_values const& values() const { return values_; }
  [[nodiscard]] tile_mapping mapping(int tensor) const { return {step_->tensors[tensor], target_}; }
  /// The place of an element of a tensor, by its number in row-major order.
  [[nodiscard]] std::int64_t place_of(int tensor, std::int64_t element) const {
    auto const* const places = places_[tensor];
    return places == nullptr ? element : places->place_of(element);
  }
  /// The element at a place, or -1 for a zero that fills up.
  [[nodiscard]] std::int64_t element_at(int tensor, std::int64_t place) const {
    auto const* const places = places_[tensor];
    return places == nullptr ? place : places->element_at(place);
  }

  /// The piece of a tensor of the step that lies on a tile: places [mapping(tensor).first(tile), last(tile)).
  [[nodiscard]] tile_view const& home(int tensor, int tile) const { return homes_[index(tensor, tile)]; }
  /// Memory for a copy or a partial result on a tile, until the task ends.
  [[nodiscard]] tile_view allocate(int tile, std::int64_t elements, dtype type) {
    return memories_[tile].allocate(elements, type);
  }

  /// Allocates `elements_of(tile)` elements on each of the first `tiles` tiles.
  template <class ElementsOf>
  [[nodiscard]] std::vector<tile_view> allocate_on(int tiles, dtype type, ElementsOf const& elements_of) {
    std::vector<tile_view> views;
    for (int tile = 0; tile < tiles; ++tile) views.push_back(allocate(tile, elements_of(tile), type));
    return views;
  }
  /// Exchange: `count` elements of a tensor from place `first` on come from the tiles where they lie.
  void receive(tile_view const& to, std::int64_t at, int tensor, std::int64_t first, std::int64_t count) {
    auto const where = mapping(tensor);
    for (std::int64_t i = 0; i < count; ++i) {
      int const from = where.tile_of(first + i);
      to.copy_element(at + i, home(tensor, from), first + i - where.first(from));
    }
    count_received(to.tile(), count * size_of(step_->tensors[tensor].type));
  }
  /// Exchange: `count` elements from one tile's memory to another's.
  void receive(tile_view const& to, std::int64_t at, tile_view const& from, std::int64_t first, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) to.copy_element(at + i, from, first + i);
    count_received(to.tile(), count * size_of(from.type()));
  }
  /// Exchange: results go to the tiles where the elements of a tensor from place `first` on lie.
  void send(tile_view const& from, std::int64_t at, int tensor, std::int64_t first, std::int64_t count) {
    auto const where = mapping(tensor);
    for (std::int64_t i = 0; i < count; ++i) {
      int const to = where.tile_of(first + i);
      home(tensor, to).copy_element(first + i - where.first(to), from, at + i);
      count_received(to, size_of(step_->tensors[tensor].type));
    }
  }
  /// All tiles sync, and what they receive is there.
  void end_exchange() {
    std::int64_t most = 0;
    for (auto& bytes : received_) {
      if (bytes > most) most = bytes;
      bytes = 0;
    }
    counted_.add_exchange(target_, most);
  }

  /// Runs a vertex on a tile: `work()` may touch this tile's memory only, else it throws tile_access_error (E4101,
  /// E4102). It takes `cycles` of the tile; several vertices on one tile run one after the other.
  template <class Work>
  void vertex(char const* name, int tile, std::int64_t cycles, Work&& work) {
    tile_access const only(name, tile);
    work();
    computed_[tile] += cycles;
  }
  void end_compute_set() {
    std::int64_t most = 0;
    for (auto& cycles : computed_) {
      if (cycles > most) most = cycles;
      cycles = 0;
    }
    counted_.add_compute_set(most);
  }
  /// A vertex on each of the first `tiles` tiles: `run(tile)`, for which `work_of(tile)` says the vertex_work.
  template <class WorkOf, class Run>
  void compute_set(char const* name, int tiles, WorkOf const& work_of, Run const& run) {
    for (int tile = 0; tile < tiles; ++tile) {
      auto const work = work_of(tile);
      count_flops(work.flops);
      vertex(name, tile, work.cycles, [&] { run(tile); });
    }
    end_compute_set();
  }
  void count_flops(std::int64_t flops) { counted_.flops += flops; }

  // The members from here on are for the runner of steps (tile_step.hpp).
  /// Puts the tensors of a step into the tiles' memories: tensors of the plan at `offsets`, by their numbers,
  /// temporary ones and the tasks' copies after `step_offset`; all in bytes.
  void begin_step(lowered_step const& step, step_layout const& layout, std::int64_t const* offsets,
                  std::int64_t step_offset, step_values const& values) {
    step_ = &step;
    values_ = values;
    counted_ = {};
    // An exception may have ended the step before this one.
    for (auto& bytes : received_) bytes = 0;
    for (auto& cycles : computed_) cycles = 0;
    homes_.clear();
    places_.clear();
    for (int tensor = 0; tensor < step.tensor_count; ++tensor) {
      places_.push_back(places_by(step.tensors[tensor].planned));
      auto const where = mapping(tensor);
      auto const offset = layout.offset[tensor] >= 0 ? step_offset + layout.offset[tensor] : offsets[tensor];
      for (int tile = 0; tile < tiles(); ++tile)
        homes_.push_back(memories_[tile].place(offset, where.elements_of(tile), step.tensors[tensor].type));
    }
  }
  /// Copies of the next task begin at `offset`.
  void begin_task(std::int64_t offset) {
    task_offset_ = offset;
    for (auto& memory : memories_) memory.begin_task(offset);
  }
  [[nodiscard]] std::int64_t task_offset() const { return task_offset_; }
  /// Memory for a temporary tensor of a task that is a list of others.
  [[nodiscard]] tile_view place(int tile, std::int64_t offset, std::int64_t elements, dtype type) {
    return memories_[tile].place(offset, elements, type);
  }
  /// Calls `work()` while the step is another one, whose tensors are the views `homes`, all tiles of a tensor together.
  template <class Work>
  void with_step(lowered_step const& step, std::vector<tile_view>& homes, Work const& work) {
    lowered_step const* const outer = std::exchange(step_, &step);
    std::vector<weight_places const*> places;
    for (int tensor = 0; tensor < step.tensor_count; ++tensor)
      places.push_back(places_by(step.tensors[tensor].planned));
    homes_.swap(homes);
    places_.swap(places);
    work();
    homes_.swap(homes);
    places_.swap(places);
    step_ = outer;
  }
  /// A tensor of the step from and to an array, row by row.
  void load(int tensor, float const* values) {
    for (int tile = 0; tile < tiles(); ++tile) {
      auto const piece = home(tensor, tile);
      auto const first = mapping(tensor).first(tile);
      for (std::int64_t i = 0; i < piece.size(); ++i) {
        auto const element = element_at(tensor, first + i);
        piece.set(i, element < 0 ? 0.0F : values[element]);
      }
    }
  }
  void store(int tensor, float* values) {
    for (int tile = 0; tile < tiles(); ++tile) {
      auto const piece = home(tensor, tile);
      auto const first = mapping(tensor).first(tile);
      for (std::int64_t i = 0; i < piece.size(); ++i)
        if (auto const element = element_at(tensor, first + i); element >= 0) values[element] = piece[i];
    }
  }
  /// The cost that was counted since the last begin_step.
  [[nodiscard]] operation_cost const& counted() const { return counted_; }
  /// The end of the highest memory that was used on any tile.
  [[nodiscard]] std::int64_t high_water_mark() const {
    std::int64_t most = 0;
    for (auto const& memory : memories_)
      if (memory.high_water_mark() > most) most = memory.high_water_mark();
    return most;
  }
  [[nodiscard]] tile_memory const& memory(int tile) const { return memories_[tile]; }

 private:
  [[nodiscard]] std::size_t index(int tensor, int tile) const {
    return static_cast<std::size_t>(tensor) * static_cast<std::size_t>(tiles()) + static_cast<std::size_t>(tile);
  }
  weight_places const* places_by(weight_mapping const* mapping) {
    if (mapping == nullptr) return nullptr;
    auto& places = places_by_[mapping];
    if (places == nullptr) places = std::make_unique<weight_places>(*mapping, target_);
    return places.get();
  }
  void count_received(int tile, std::int64_t bytes) { received_[tile] += bytes; }

  ipu_target target_;
  std::vector<tile_memory> memories_;
  std::vector<tile_view> homes_;
  std::vector<weight_places const*> places_;  ///< one for each of the step's tensors; null if mapped linearly
  std::map<weight_mapping const*, std::unique_ptr<weight_places>> places_by_;
  std::vector<std::int64_t> received_ = std::vector<std::int64_t>(static_cast<std::size_t>(target_.tiles_per_ipu));
  std::vector<std::int64_t> computed_ = std::vector<std::int64_t>(static_cast<std::size_t>(target_.tiles_per_ipu));
  lowered_step const* step_ = nullptr;
  step_values values_;
  operation_cost counted_;
  std::int64_t task_offset_ = 0;
};

}  // namespace stagecraft::tiles
