// SPDX-License-Identifier: BSD-3-Clause
// The norms of a weight update: found in rounds, since some are taken of what depends on others, before any weight
// changes.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/engine/pipeline_memory.hpp>
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace stagecraft::engine {

/// `Plan` is that of any pass of training. Norms of weights are those of the gradients of all replicas, with what
/// penalties add to them.
template <class Sizes, class Plan>
class update_norms {
  using memory_type = pipeline_memory<Sizes>;
  using policy = typename Plan::policy;
  static constexpr int replicas = Sizes::replicas;
  static constexpr bool shards = Sizes::shards_state || Sizes::shards_weights;
  static constexpr norm_blocks blocks_of(std::size_t parameter) { return {Plan::weights.size[parameter], replicas}; }

 public:
  template <std::size_t Parameter>
  using facts = weight_facts<Plan, Parameter>;
  template <std::size_t Parameter>
  static constexpr detail::norms_of_step const& norms_of = detail::norms_of<facts<Parameter>::optimizer>;
  template <std::size_t Parameter, int Round>
  static constexpr unsigned which = detail::norms_of_round<facts<Parameter>::optimizer>(Round);

  /// Rounds of all weights.
  static constexpr int rounds = detail::norms_of<Plan::training.optimizer>.rounds;
  /// True if other devices' sums are needed for a round's norms: those of other shards, or of all weights.
  template <int Round>
  static constexpr bool waits = shards || (Round == 0 && detail::norms_of<Plan::training.optimizer>.has_global());

  /// Reads the numbers of a weight's update: its norms, and those that follow from the factor of the losses. It is
  /// called only where no thread comes late.
  template <std::size_t Parameter>
  static pass_memory memory_of(memory_type const& own, pass_memory memory, [[maybe_unused]] int device) {
    if constexpr (rounds > 0) memory.norms = own.norms.norms[Parameter].data();
    if constexpr (Sizes::scales_losses) memory.loss_scale = own.loss_scales.of_device[device].scale;
    return memory;
  }

  /// The sum over all weights, after the first round, that decides on the factor of the losses.
  template <class Replicas>
  static double sum_for_loss_scale(Replicas const& all, memory_type const& own) {
    int const number = number_among_global(detail::norms_of<Plan::training.optimizer>,
                                           detail::norms_of<Plan::training.optimizer>.scale);
    double sum = 0;
    for (std::size_t weight = 0; weight < Plan::weights.count; ++weight)
      sum += sum_of_shards(all, own, weight, global_norm(weight, number));
    return sum;
  }

  /// The sums of a part of a weight's blocks. `state(elements)` is the optimizer's state of them.
  template <std::size_t Parameter, int Round, class State>
  static void add_squares(memory_type& own, pass_memory const& memory, int device, State const& state) {
    if constexpr (constexpr unsigned norms = which<Parameter, Round>; norms != 0) {
      constexpr norm_blocks blocks = blocks_of(Parameter);
      auto const [first, last] = memory.share.of(blocks.count());
      pass_memory const of_weight = memory_of<Parameter>(own, memory, device);
      std::int64_t number = 0;
      for (int shard = 0; shard < replicas; ++shard)
        for (std::int64_t block = 0; block < blocks.count_of(shard); ++block, ++number)
          if (number >= first && number < last && (!shards || shard == own.replica)) {
            auto const elements = blocks.elements(shard, block);
            double sums[std::popcount(norms)]{};
            policy::template add_squares<Plan, Parameter, norms>(of_weight, state(elements), elements, sums);
            auto& to = own.norms.squares[first_block(Parameter) + number];
            int next = 0;
            for (int i = 0; i < norms_of<Parameter>.count; ++i)
              if ((norms >> i & 1U) != 0) to[i] = sums[next++];
          }
    }
  }

  /// The sums of a weight's shards, or of this replica's, from those of the blocks.
  template <std::size_t Parameter, int Round, class State>
  static void add_blocks(memory_type& own, pass_memory const& memory, int device, State const& state) {
    if constexpr (constexpr unsigned norms = which<Parameter, Round>; norms != 0) {
      pass_memory const of_weight = memory_of<Parameter>(own, memory, device);
      constexpr norm_blocks blocks = blocks_of(Parameter);
      auto number = static_cast<std::size_t>(first_block(Parameter));
      for (int shard = 0; shard < replicas; ++shard) {
        auto& sums = own.norms.sums[shard][Parameter];
        for_each_norm<Parameter, Round>([&](std::size_t norm) { sums[norm] = 0; });
        for (std::int64_t block = 0; block < blocks.count_of(shard); ++block, ++number)
          for_each_norm<Parameter, Round>([&](std::size_t norm) { sums[norm] += own.norms.squares[number][norm]; });
      }
      policy::template squares<Plan, Parameter, Round>(of_weight, state, shards, own.norms.sums[0][Parameter].data());
    }
  }

  /// The round's norms of a weight, from the sums of all shards of it, or of all weights.
  template <std::size_t Parameter, int Round, class Replicas>
  static void find(Replicas const& all, memory_type& own) {
    for_each_norm<Parameter, Round>([&](std::size_t norm) {
      double sum = 0;
      if (norms_of<Parameter>.norms[norm].is_global) {
        // The number of the norm of all weights among each weight's norms. It differs with the norms that a weight is
        // excluded from.
        int const number = number_among_global(norms_of<Parameter>, static_cast<int>(norm));
        for (std::size_t weight = 0; weight < Plan::weights.count; ++weight)
          sum += sum_of_shards(all, own, weight, global_norm(weight, number));
      } else {
        sum = sum_of_shards(all, own, Parameter, static_cast<int>(norm));
      }
      own.norms.norms[Parameter][norm] = std::sqrt(sum);
    });
  }

 private:
  template <std::size_t Parameter, int Round, class Each>
  static void for_each_norm(Each const& each) {
    constexpr unsigned norms = which<Parameter, Round>;
    for (int i = 0; i < norms_of<Parameter>.count; ++i)
      if ((norms >> i & 1U) != 0) each(static_cast<std::size_t>(i));
  }
  static constexpr std::int64_t first_block(std::size_t parameter) {
    std::int64_t first = 0;
    for (std::size_t i = 0; i < parameter; ++i) first += blocks_of(i).count();
    return first;
  }
  static constexpr int number_among_global(norms_of_step const& norms, int norm) {
    int number = 0;
    for (int i = 0; i < norm; ++i) number += norms.norms[i].is_global ? 1 : 0;
    return number;
  }
  /// -1 of a weight that is not trained.
  static int global_norm(std::size_t weight, int number) {
    static constexpr auto tables = []<std::size_t... Parameter>(std::index_sequence<Parameter...>) {
      return std::array<detail::norms_of_step, Plan::weights.count + 1>{norms_of_trained<Parameter>()...};
    }(std::make_index_sequence<Plan::weights.count>{});
    auto const& norms = tables[weight];
    for (int i = 0; i < norms.count; ++i)
      if (norms.norms[i].is_global && number-- == 0) return i;
    return -1;
  }
  template <std::size_t Parameter>
  static constexpr norms_of_step norms_of_trained() {
    if constexpr (facts<Parameter>::is_trained)
      return norms_of<Parameter>;
    else
      return {};
  }
  template <class Replicas>
  static double sum_of_shards(Replicas const& all, memory_type const& own, std::size_t weight, int norm) {
    if (norm < 0) return 0;
    double sum = 0;
    for (std::size_t shard = 0; shard < static_cast<std::size_t>(replicas); ++shard)
      sum += (shards && Sizes::processes::is_alone ? *all[shard] : own).norms.sums[shard][weight][norm];
    return sum;
  }
};

}  // namespace stagecraft::engine
