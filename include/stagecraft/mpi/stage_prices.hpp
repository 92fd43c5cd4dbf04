// SPDX-License-Identifier: BSD-3-Clause
// What a pipeline on the ranks of a cluster costs: its passes one after the other, and the messages between them. They
// know neither models nor MPI.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/mpi/cluster.hpp>
#include <stagecraft/mpi/exchange_prices.hpp>
#include <stagecraft/pipeline/schedule/timetable.hpp>
#include <stagecraft/plan/pass_plan.hpp>
#include <cstddef>
#include <cstdint>

namespace stagecraft::mpi {

/// Bytes of a pass's results that another device reads.
struct stage_message {
  int device = 0;
  std::int64_t bytes = 0;
};
/// The work of a pass with one micro-batch, what it sends, and the passes that it waits for.
struct pass_price {
  double seconds = 0;
  std::int64_t bytes_to_each_rank = 0;  ///< to each other rank of the replica, besides the messages
  tracing::growing_array<stage_message> messages;
  tracing::growing_array<plan::pass_wait> waits;
};

/// The devices of all replicas on ranks, one after the other.
struct stages_on_ranks {
  int replicas = 1, devices = 1, ranks = 1;
  stage_placement by = stage_placement::by_replica;

  [[nodiscard]] constexpr int rank_of(int replica, int device) const {
    return unit_of(by, replica, replicas, device, devices) * ranks / (replicas * devices);
  }
  /// One replica on its own ranks, if each has as many.
  [[nodiscard]] constexpr stages_on_ranks of_one() const {
    return by == stage_placement::by_replica && ranks % replicas == 0 ? stages_on_ranks{1, devices, ranks / replicas}
                                                                      : *this;
  }
  /// The ranks with a device of some replica: how many, and how many of them stand before a rank.
  [[nodiscard]] constexpr int ranks_with(int device, int before = 1 << 30) const {
    int count = 0;
    for (int replica = 0, last = -1; replica < replicas; ++replica)
      if (int const rank = rank_of(replica, device); rank != last && rank < before) {
        ++count;
        last = rank;
      }
    return count;
  }
  [[nodiscard]] constexpr bool has(int rank, int device) const {
    for (int replica = 0; replica < replicas; ++replica)
      if (rank_of(replica, device) == rank) return true;
    return false;
  }
};

/// A round of a pipeline: all micro-batches of a weight update.
struct staged_price {
  double seconds = 0;              ///< from the first pass to the last one, on all ranks
  double work_seconds = 0;         ///< passes of all ranks
  double work_of_rank = 0;         ///< passes of the rank that is asked about
  double most_work = 0;            ///< passes of the rank that works most
  std::int64_t bytes_of_rank = 0;  ///< bytes that the rank that is asked about sends
};

/// Goes through a timetable as ranks do: each carries out the passes of its devices in the order of the slots, one at a
/// time, and begins one when it is free and what it waits for has come. A message leaves when its pass is done and the
/// link of its host is free, and comes a latency after its last byte.
[[nodiscard]] constexpr staged_price price_of_passes(timetable const& table,
                                                     tracing::growing_array<pass_price> const& passes,
                                                     stages_on_ranks const& placed, network const& between, int asked) {
  using steps = pipeline::timetable_steps<timetable, pipeline::steps_of_slot::passes>;
  auto const of = placed.of_one();
  int const times = placed.replicas / of.replicas, micro_batches = table.micro_batches();
  auto const ranks = static_cast<std::size_t>(of.ranks);
  tracing::growing_array<double> free(ranks), link(ranks), work(ranks), done, arrived;
  auto const place = [&](int replica, int pass, int micro_batch) {
    return static_cast<std::size_t>((replica * table.passes() + pass) * micro_batches + micro_batch);
  };
  done.resize(place(of.replicas, 0, 0));
  arrived.resize(place(of.replicas, 0, 0));
  staged_price result;
  for (int slot = 0; slot < table.slots(); ++slot)
    for (int replica = 0; replica < of.replicas; ++replica)
      for (int device = 0; device < of.devices; ++device) {
        if (table.first_stage_on(device) >= table.stages()) continue;
        for (auto step = steps(table, slot, device).begin(); step != steps::iterator(); ++step) {
          int const rank = of.rank_of(replica, device);
          auto const& pass = passes[static_cast<std::size_t>(step->pass)];
          double begin = free[static_cast<std::size_t>(rank)];
          for (auto const& wait : pass.waits) {
            int const needed = step->micro_batch - wait.lag;
            if (needed < 0) continue;
            bool const here = of.rank_of(replica, table.device_of_pass(wait.pass)) == rank;
            double const there = (here ? done : arrived)[place(replica, wait.pass, needed)];
            if (there > begin) begin = there;
          }
          double const end = begin + pass.seconds;
          free[static_cast<std::size_t>(rank)] = end;
          work[static_cast<std::size_t>(rank)] += pass.seconds;
          double linked = 0, in_memory = 0;
          std::int64_t bytes = 0;
          auto const send = [&](int other, std::int64_t count) {
            bool const in_host = other / between.ranks_of_host == rank / between.ranks_of_host;
            (in_host ? in_memory : linked) += static_cast<double>(count);
            bytes += count;
          };
          for (auto const& message : pass.messages)
            if (int const other = of.rank_of(replica, message.device); other != rank) send(other, message.bytes);
          if (pass.bytes_to_each_rank > 0)
            for (int other = of.rank_of(replica, 0); other <= of.rank_of(replica, of.devices - 1); ++other)
              if (other != rank) send(other, pass.bytes_to_each_rank);
          auto& busy = link[static_cast<std::size_t>(rank / between.ranks_of_host)];
          busy = (busy > end ? busy : end) + linked * 8 / (between.gigabits * 1e9) +
                 in_memory / (between.memory_gigabytes * 1e9);
          auto const at = place(replica, step->pass, step->micro_batch);
          done[at] = end;
          arrived[at] = busy + between.latency_us * 1e-6;
          if (arrived[at] > result.seconds && bytes > 0) result.seconds = arrived[at];
          if (end > result.seconds) result.seconds = end;
          if (rank == asked % of.ranks) result.bytes_of_rank += bytes;
        }
      }
  for (double const seconds : work) {
    result.work_seconds += times * seconds;
    if (seconds > result.most_work) result.most_work = seconds;
  }
  result.work_of_rank = work[static_cast<std::size_t>(asked % of.ranks)];
  return result;
}

/// The network between the ranks that have the same stage of different replicas: those of other stages of a host send
/// at the same time.
[[nodiscard]] constexpr network network_of_sums(network between, stages_on_ranks const& of) {
  int const apart = of.ranks % of.replicas == 0 ? of.ranks / of.replicas : 1;
  int const in_host = between.ranks_of_host > apart ? between.ranks_of_host / apart : 1;
  between.gigabits /= static_cast<double>(between.ranks_of_host) / in_host;
  between.ranks_of_host = in_host;
  return between;
}

}  // namespace stagecraft::mpi

#include <stagecraft/diagnostics/end_headers.hpp>
