// SPDX-License-Identifier: BSD-3-Clause
// Where the temporary tensors of a traced layer's program lie, and from where on its operations make copies.
#pragma once

#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/ipu/cycles/integers.hpp>
#include <stagecraft/ipu/steps/step_layout.hpp>
#include <stagecraft/ipu/steps/task_list.hpp>
#include <cstddef>
#include <cstdint>

namespace stagecraft::tiles {

/// As step_layout: a tensor takes its place from the first operation that names it to the last; first fit. In a loop,
/// what comes from outside stays until the end, and what is read behind it is there from the begin.
template <class = void>
class program_layout {
 public:
  growing_array<std::int64_t> copies;

  /// Sets the offsets of `tensors`.
  constexpr program_layout(tracing::array_view<task_list_tensor> tensors, tracing::array_view<task const> tasks,
                           tracing::array_view<tile_loop const> loops, ipu_target const& target)
      : copies(tasks.size(), 0) {
    int const count = static_cast<int>(tasks.size());
    growing_array<int> first(tensors.size(), count), last(tensors.size(), -1);
    for (int k = 0; k < count; ++k) {
      auto const& operation = tasks[k];
      auto const use = [&](int tensor) {
        if (k < first[tensor]) first[tensor] = k;
        last[tensor] = k;
      };
      for (int i = 0; i < operation.input_count; ++i) use(operation.inputs[i]);
      for (int i = 0; i < operation.output_count; ++i) {
        use(operation.outputs[i]);
        tensors[operation.outputs[i]].written = true;
      }
    }
    growing_array<growing_array<int>> begins(tasks.size());
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (tensors[i].given >= 0 || last[i] < 0) continue;
      for (std::size_t k = loops.size(); k-- > 0;) {  // inner ones first
        auto const& loop = loops[k];
        if (loop.contains(first[i]) && last[i] >= loop.end) first[i] = loop.begin;
        if (loop.contains(last[i]) && first[i] < loop.begin) last[i] = loop.end - 1;
      }
      begins[first[i]].push_back(static_cast<int>(i));
    }
    growing_array<placed> alive;
    for (int k = 0; k < count; ++k) {
      std::size_t kept = 0;
      for (auto const& one : alive)
        if (one.last >= k) alive[kept++] = one;
      alive.resize(kept);
      for (int const tensor : begins[k]) {
        placed const one{0, bytes_on_tile(tensors[tensor].tensor, target), last[tensor]};
        tensors[tensor].offset = insert(alive, one);
      }
      if (!alive.empty())
        for (auto const& one : alive) copies[k] = larger(copies[k], one.offset + one.bytes);
    }
  }

 private:
  struct placed {
    std::int64_t offset, bytes;
    int last;
  };

  /// Into the lowest gap of those that are alive, which stand in the order of their offsets.
  static constexpr std::int64_t insert(growing_array<placed>& alive, placed one) {
    std::size_t place = 0;
    while (place < alive.size() && alive[place].offset < one.offset + one.bytes) {
      one.offset = alive[place].offset + alive[place].bytes;
      ++place;
    }
    alive.push_back(one);
    for (std::size_t i = alive.size() - 1; i > place; --i) {
      placed const moved = alive[i - 1];
      alive[i - 1] = alive[i];
      alive[i] = moved;
    }
    return one.offset;
  }
};

}  // namespace stagecraft::tiles
