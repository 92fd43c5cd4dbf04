// SPDX-License-Identifier: BSD-3-Clause
// What the parts of a linear order cost, and what a cut between two of them does: what a partition is searched on.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/graph/growing_array.hpp>
#include <cstddef>

namespace stagecraft::pipeline {

class partition_search;

/// A linear order of things to be carried out (the calls of a model), to be cut into contiguous stages, and what is
/// known of each. A view: what it shows outlives it. No number is negative. A list that is left out stands for zeros,
/// or for no restriction.
///
/// A stage of the positions [first, last) takes the sum of their `cycles`, and the memory
///
///     sum of `exclusive` + `shared` of each kind among them, once + the highest `temporary`
///
/// Definition: Graphcore's automatic pipelining of Keras models, whose shared part is the code of a layer type, whose
/// exclusive part its weights and state, and whose temporaries include tensors that are carried along for later
/// positions.
struct partition_costs {
  tracing::array_view<long long const> cycles = {};  ///< the cost of each position, in any unit
  tracing::array_view<long long const> transfer =
      {};  ///< the cost of a cut right before each position, in the same unit; the first is not used
  tracing::array_view<bool const> joined = {};          ///< true if a position is in the stage of the one before
  tracing::array_view<long long const> exclusive = {};  ///< memory of each position
  tracing::array_view<long long const> temporary = {};  ///< memory while a position is carried out
  tracing::array_view<int const> kind = {};             ///< the kind of each position, from 0; -1: shares nothing
  tracing::array_view<long long const> shared = {};     ///< memory of each kind
  long long capacity = -1;                              ///< memory of a stage; -1: any

  [[nodiscard]] constexpr int size() const { return static_cast<int>(cycles.size()); }
  [[nodiscard]] constexpr long long transfer_before(int position) const { return value(transfer, position); }
  [[nodiscard]] constexpr bool may_cut_before(int position) const {
    return position > 0 && position < size() && !(position < static_cast<int>(joined.size()) && joined[position]);
  }

  /// The cycles of a stage.
  [[nodiscard]] constexpr long long cycles_of(int first, int last) const {
    long long sum = 0;
    for (int i = first; i < last; ++i) sum += cycles[i];
    return sum;
  }

  /// The memory of a stage.
  [[nodiscard]] constexpr long long memory_of(int first, int last) const {
    long long sum = 0, highest = 0;
    growing_array<char> counted(shared.size(), 0);
    for (int i = first; i < last; ++i) {
      sum += value(exclusive, i);
      if (value(temporary, i) > highest) highest = value(temporary, i);
      if (kind_of(i) < 0 || counted[kind_of(i)] != 0) continue;
      counted[kind_of(i)] = 1;
      sum += shared[kind_of(i)];
    }
    return sum + highest;
  }

 private:
  [[nodiscard]] static constexpr long long value(tracing::array_view<long long const> list, int position) {
    return position < static_cast<int>(list.size()) ? list[position] : 0;
  }
  [[nodiscard]] constexpr int kind_of(int position) const {
    return position < static_cast<int>(kind.size()) ? kind[position] : -1;
  }

  friend partition_search;
};

}  // namespace stagecraft::pipeline
