// SPDX-License-Identifier: BSD-3-Clause
// The best way to cut a linear order into contiguous stages, found exactly, by the compiler or at run time. Graphcore's
// counterpart: the dynamic program of automatic pipelining of Keras models.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/pipeline/partition_costs.hpp>
#include <stagecraft/pipeline/partition_search.hpp>
#include <array>
#include <cstddef>

namespace stagecraft::pipeline {

/// The cost that a partition minimizes.
/// - `cycles`: the highest cycles of a stage plus the highest transfer at a cut, which is the time between two
///   micro-batches, since devices compute at the same time and exchange at the same time;
/// - `memory`: the highest memory of a stage; among those, `cycles`;
/// - `stages`: the number of stages; among those, `cycles`.
enum class partition_objective : unsigned char { cycles, memory, stages };

}  // namespace stagecraft::pipeline

namespace stagecraft {

/// The bounds of the number of stages of a partition, and the quantity to minimize.
struct partition_options {
  /// The fewest stages that are looked at.
  int min_stages = 1;
  int max_stages = 1;  ///< at most partition::capacity
  /// The cost that the partition minimizes.
  pipeline::partition_objective objective = pipeline::partition_objective::cycles;
};

}  // namespace stagecraft

namespace stagecraft::pipeline {

/// A linear order cut into stages.
struct partition {
  static constexpr int capacity = 64;  ///< the most stages

  int stages = 0;  ///< 0: there is no such partition
  /// Stage s is the positions [first[s], first[s + 1]).
  std::array<int, capacity + 1> first{};
  long long cycles = 0;    ///< cycles of the slowest stage
  long long transfer = 0;  ///< cycles of the slowest cut
  long long memory = 0;    ///< bytes of the fullest stage

  [[nodiscard]] constexpr bool found() const noexcept { return stages > 0; }
  /// The time between two micro-batches.
  [[nodiscard]] constexpr long long period() const noexcept { return cycles + transfer; }
  [[nodiscard]] constexpr int stage_of(int position) const {
    int stage = 0;
    while (stage + 1 < stages && first[static_cast<std::size_t>(stage) + 1] <= position) ++stage;
    return stage;
  }

  friend constexpr bool operator==(partition const&, partition const&) = default;
};

/// The best partition with a number of stages between min_stages and max_stages, each of which fits into the capacity.
/// Among the best it has the fewest stages, and is as even as can be had by choosing one cut after the other.
///
/// A stage that loses positions at its ends never takes more cycles or memory. So for given bounds, filling stage after
/// stage as far as they allow gives the fewest stages there can be, and each more, up to the number of pieces, can be
/// had by cutting stages in two. What remains is to search the bounds. For a range of highest transfers, one filling
/// with the cuts of the highest and the time that the lowest leaves says whether any of them may beat the best so far;
/// ranges that may are halved. For a single one, the cycles are searched between bounds that each filling tightens to
/// sums that there are.
///
/// For n positions and k stages, a filling takes k log n steps after n steps of preparation. A search takes some tens
/// of fillings, and at worst one for each transfer and each bit of the cycles; Graphcore's dynamic program takes k n^3
/// steps. Constants: 176 positions with as many different transfers, into up to 16 stages, take 0.4 million of the
/// million steps that Clang allows, and with the objective `memory` 0.7 million. Sums of all cycles, and of all memory,
/// are below 2^63.
[[nodiscard]] constexpr partition find_partition(partition_costs const& costs, partition_options const& options) {
  int const most = options.max_stages < partition::capacity ? options.max_stages : partition::capacity;
  int const least = options.min_stages > 1 ? options.min_stages : 1;
  partition result;
  if (costs.size() == 0 || least > most) return result;
  partition_search search(costs, least, most, options.objective == partition_objective::memory);
  if (options.objective == partition_objective::memory) search.lower_capacity();
  if (options.objective == partition_objective::stages) search.take_fewest_stages();
  auto const cuts = search.best_cuts();
  if (cuts.empty()) return result;
  result.stages = static_cast<int>(cuts.size()) - 1;
  for (std::size_t i = 0; i < cuts.size(); ++i) result.first[i] = cuts[i];
  for (std::size_t s = 0; s + 1 < cuts.size(); ++s) {
    auto const cycles = costs.cycles_of(cuts[s], cuts[s + 1]), memory = costs.memory_of(cuts[s], cuts[s + 1]);
    auto const transfer = s == 0 ? 0 : costs.transfer_before(cuts[s]);
    if (cycles > result.cycles) result.cycles = cycles;
    if (transfer > result.transfer) result.transfer = transfer;
    if (memory > result.memory) result.memory = memory;
  }
  return result;
}

}  // namespace stagecraft::pipeline
