// SPDX-License-Identifier: BSD-3-Clause
// Where the values of a step lie: in the layer's inputs, in the kept values, or in a workspace whose parts are reused
// as soon as nothing reads them.
#pragma once

#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/operations/plan/product_joins.hpp>
#include <stagecraft/operations/plan/segments.hpp>
#include <stagecraft/operations/plan/steps.hpp>
#include <cstdint>
#include <utility>

namespace stagecraft::operations {

/// The memory that holds a value.
enum class storage : unsigned char {
  nowhere,
  constant,  ///< in the list of operations, at `index`
  input,
  weight,
  output,
  output_gradient,
  gradient,  ///< the gradient of input, then weight, `index`: a result of the step
  kept,
  workspace,
  samples  ///< memory of the samples in work: `offset` floats for each of them from the begin
};

/// A value's memory: its tensor, and the offset in floats.
struct place {
  storage in = storage::nowhere;
  int index = 0;
  std::int64_t offset = 0;
};

/// The places of all values of one step.
class value_places {
 public:
  tracing::growing_array<place> places;  ///< a place for each operation; `nowhere` if the step does not compute it
  std::int64_t workspace = 0;            ///< floats
  std::int64_t sample_floats = 0;        ///< floats for each sample in work
  tracing::growing_array<product_join> joins;

  /// `written` says whether the gradient of an input (then of a weight) overwrites its memory, is added to it, or is
  /// unwanted. `order` has the operations of the step, `results` the values that are read after it, `carried_out` both
  /// steps.
  constexpr value_places(trace const& traced, tracing::growing_array<int> const& order,
                         tracing::growing_array<int> const& results, steps const& carried_out, bool is_forward,
                         tracing::growing_array<segment> const& segments, int batch,
                         tracing::array_view<bool const> written = {})
      : places(traced.list.nodes.size()), list_(&traced.list), order_(&order), segments_(&segments), batch_(batch) {
    positions_.assign(places.size(), -1);
    for (std::size_t i = 0; i < order.size(); ++i) positions_[order[i]] = static_cast<int>(i);
    std::int64_t offset = 0;
    for (int const id : carried_out.kept) {
      places[id] = {storage::kept, 0, offset};
      offset += floats_of(id);
    }
    place_leaves(traced);
    if (!is_forward)
      for (auto const& [weight, copy] : carried_out.old_weights) places[weight] = places[copy];
    if (!is_forward && carried_out.backward_reads_output)
      for (int id = 0; id < traced.forward_count; ++id)
        if (carried_out.is_output(id)) places[id] = {storage::output, 0, 0};
    find_roots();
    if (is_forward) {
      auto& output = places[root(traced.outputs[0])];
      if (output.in == storage::nowhere) output = {storage::output, 0, 0};
    }
    if (!is_forward) place_gradients(traced, written);
    joins = product_joins(traced.list, order, segments, [&](int id) {
              bool is_free = places[id].in == storage::nowhere;
              for (int const result : results) is_free = is_free && root(result) != id;
              return is_free;
            }).joins;
    place_others(results);
    for (int const id : order) places[id] = places[root(id)];
  }

  /// Floats of all kept values.
  static constexpr std::int64_t kept_floats(operation_list const& list, tracing::growing_array<int> const& kept) {
    std::int64_t sum = 0;
    for (int const id : kept) sum += rounded(list.node_of(id).shape.size());
    return sum;
  }

 private:
  /// `floats` rounded up to whole cache lines.
  static constexpr std::int64_t rounded(std::int64_t floats) { return (floats + 15) / 16 * 16; }
  [[nodiscard]] constexpr std::int64_t floats_of(int id) const { return rounded(list_->node_of(id).shape.size()); }
  [[nodiscard]] constexpr bool runs(int id) const { return positions_[id] >= 0; }

  /// The operation in whose memory the value of `id` lies.
  [[nodiscard]] constexpr int root(int id) const { return roots_[id]; }
  /// Finds the roots of all operations once, since many are asked for: operands stand before what reads them.
  constexpr void find_roots() {
    tracing::growing_array<int> next_of;  // the next value of each state
    for (int const id : *order_)
      if (list_->node_of(id).what.is<next>()) {
        if (next_of.empty()) next_of.assign(places.size(), -1);
        if (int& value = next_of[list_->operand(id, 1)]; value < 0) value = id;
      }
    roots_.reserve(places.size());
    for (int id = 0; id < list_->size(); ++id) {
      auto const& what = list_->node_of(id).what;
      int from = id;
      if (places[id].in == storage::kept || places[id].in == storage::output) {
      } else if (what.is<last>()) {
        from = list_->operand(id, 1);
        if (!next_of.empty() && next_of[from] >= 0) from = next_of[from];
      } else if (is_alias(what)) {
        from = list_->operand(id, 0);
      }
      roots_.push_back(from == id ? id : roots_[from]);
    }
  }
  constexpr void place_leaves(trace const& traced) {
    for (int id = 0; id < list_->size(); ++id) {
      auto const& what = list_->node_of(id).what;
      if (what.is<constant>()) places[id] = {storage::constant, id, 0};
      if (auto const* read = what.if_is<weight>()) places[id] = {storage::weight, read->index, 0};
      if (auto const* read = what.if_is<input>())
        places[id] = read->index < static_cast<int>(traced.inputs.size()) ? place{storage::input, read->index, 0}
                                                                          : place{storage::output_gradient, 0, 0};
    }
  }

  constexpr void place_gradients(trace const& traced, tracing::array_view<bool const> written) {
    for (std::size_t i = 0; i < written.size() && i < traced.gradients.size(); ++i) {
      if (!written[i] || traced.gradients[i] < 0) continue;
      int const id = root(traced.gradients[i]);
      if (runs(id) && places[id].in == storage::nowhere) places[id] = {storage::gradient, static_cast<int>(i), 0};
    }
  }

  struct lifetime {
    int id, first, last;
    std::int64_t floats;
    bool is_of_samples;
  };
  /// Memory that values use one after the other, and the end of the last one's life.
  struct block {
    std::int64_t offset, floats;
    int last;
  };
  struct region {
    int first, last;
  };

  constexpr void place_others(tracing::growing_array<int> const& results) {
    tracing::growing_array<region> loops;
    for (int const id : *order_)
      if (list_->node_of(id).what.is<loop_end>()) loops.push_back({positions_[list_->operand(id, 0)], positions_[id]});

    tracing::growing_array<lifetime> lives;
    tracing::growing_array<int> live_of(places.size(), -1);
    for (int const id : *order_) {
      auto const& what = list_->node_of(id).what;
      if (places[id].in != storage::nowhere || root(id) != id || what.is_any<loop, loop_end, update>()) continue;
      live_of[id] = static_cast<int>(lives.size());
      lives.push_back({id, positions_[id], positions_[id], floats_of(id), false});
    }
    auto const read_at = [&](int id, int position) {
      int const index = live_of[root(id)];
      if (index >= 0 && lives[index].last < position) lives[index].last = position;
    };
    for (int const id : *order_)
      for (int i = 0; i < list_->node_of(id).operand_count; ++i) read_at(list_->operand(id, i), positions_[id]);
    for (int const id : results) read_at(id, static_cast<int>(order_->size()));
    // From then on, a product's result lies in the memory of its join.
    for (auto const& join : joins)
      for (auto& life : lives)
        if (join.sum >= 0 && life.id == root(join.sum)) life.first = positions_[join.product];
    for (auto& life : lives) fit_to_segments(life);
    for (auto& life : lives)
      for (auto const& loop : loops) {
        bool const begins_inside = life.first > loop.first && life.first < loop.last;
        bool const is_read_inside = life.last > loop.first && life.last < loop.last;
        // A value that one trip computes and reads does not concern other trips; one that stays lives in all of them.
        if (begins_inside && !stays(life.id)) continue;
        if (begins_inside) life.first = loop.first;
        if ((begins_inside || is_read_inside) && life.last < loop.last) life.last = loop.last;
      }
    for (std::size_t i = 1; i < lives.size(); ++i)  // nearly sorted
      for (std::size_t k = i; k > 0 && lives[k].first < lives[k - 1].first; --k) std::swap(lives[k], lives[k - 1]);
    assign(lives, false, workspace);
    assign(lives, true, sample_floats);
  }
  /// A value of one segment that works sample by sample exists for the samples in work. Other values of such segments
  /// live as long as the segments, since parts of the batch come in any order.
  constexpr void fit_to_segments(lifetime& life) const {
    auto const divided_at = [&](int position) -> segment const* {
      for (segment const& each : *segments_)
        if (position >= each.begin && position < each.end)
          return each.kind == segment_kind::by_sample ? &each : nullptr;
      return nullptr;
    };
    segment const *first = divided_at(life.first), *last = divided_at(life.last);
    life.is_of_samples = first != nullptr && first == last;
    if (life.is_of_samples) {
      life.floats = rounded(list_->node_of(life.id).shape.size() / batch_);
      return;
    }
    if (first != nullptr) life.first = first->begin;
    if (last != nullptr) life.last = last->end - 1;
  }
  /// Assigns memory to the values whose lives are of one kind.
  constexpr void assign(tracing::growing_array<lifetime> const& lives, bool of_samples, std::int64_t& floats) {
    tracing::growing_array<block> blocks;
    for (auto const& life : lives) {
      if (life.is_of_samples != of_samples) continue;
      // Takes the first free block: compilers limit the steps of constant evaluation, so few steps count more than few
      // floats.
      std::size_t chosen = 0;
      while (chosen < blocks.size() && (blocks[chosen].last >= life.first || blocks[chosen].floats < life.floats))
        ++chosen;
      if (chosen == blocks.size()) {
        blocks.push_back({floats, life.floats, 0});
        floats += life.floats;
      }
      blocks[chosen].last = life.last;
      places[life.id] = {of_samples ? storage::samples : storage::workspace, 0, blocks[chosen].offset};
    }
  }
  [[nodiscard]] constexpr bool stays(int id) const {
    auto const& what = list_->node_of(id).what;
    return what.is_any<carry, next, stack>();
  }
  operation_list const* list_;
  tracing::growing_array<int> const* order_;
  tracing::growing_array<segment> const* segments_;
  int batch_;
  tracing::growing_array<int> positions_, roots_;
};

}  // namespace stagecraft::operations
