// SPDX-License-Identifier: BSD-3-Clause
// What a sum of gradients over the ranks of a cluster costs: seconds, bytes and messages, as formulas. They know
// neither models nor MPI.
#pragma once

#include <stagecraft/diagnostics/compiler.hpp>

#include <stagecraft/diagnostics/begin_headers.hpp>

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/kernels/reduction/collectives.hpp>
#include <stagecraft/mpi/cluster.hpp>
#include <cstdint>

namespace stagecraft {

/// The algorithm by which ranks sum their gradients. Each way is a reduce-scatter and an all-gather.
enum class gradient_sums {
  direct,       ///< each rank sends every other one its part; what a program on a cluster does
  ring,         ///< each rank sends a part to the next one, in twice as many rounds as there are other ranks
  halving,      ///< pairs exchange halves, quarters and so on, and back: twice log2(ranks) rounds, distant pairs first
  hierarchical  ///< a reduce-scatter within each host, halving between hosts, and an all-gather within each host
};

/// The algorithm by which a profile of a cluster assumes that gradients are summed; by default, as a program on a
/// cluster does.
struct gradient_exchange {
  gradient_sums by = gradient_sums::direct;  ///< the way of the sums
  /// True: sums begin during the last backward pass, as soon as there are gradients. False: after it.
  bool overlaps = false;
};

}  // namespace stagecraft

namespace stagecraft::mpi {

/// The price of one sum of gradients, for the rank that sends most.
struct exchange_price {
  double seconds = 0;          ///< seconds of the whole sum
  double latency_seconds = 0;  ///< seconds of it that do not depend on the number of bytes
  std::int64_t bytes = 0;      ///< bytes that the rank sends
  int rounds = 0;              ///< messages that follow each other
};

/// The gradients that are summed: `floats` of gradients in each of `sums` blocks of a rank, which the rank cannot add
/// up by itself without a change of the order of the sum (1 if the number of its replicas is a power of two).
struct summed_gradients {
  int ranks = 1;
  std::int64_t floats = 0;
  int sums = 1;
};

/// Bytes that a rank sends by gradient_sums::direct: they are those of rank_processes::exchange.
[[nodiscard]] constexpr std::int64_t direct_bytes(summed_gradients const& of, int rank) {
  auto const part = [&](int which) {
    auto const [first, last] = kernels::shard_of(of.floats, which, of.ranks);
    return last - first;
  };
  if (of.ranks == 1) return 0;
  return 4 * (of.sums * (of.floats - part(rank)) + (of.ranks - 1) * part(rank));
}

[[nodiscard]] constexpr int rounds_of_halving(int count) {
  int rounds = 0;
  for (int reached = 1; reached < count; reached *= 2) ++rounds;
  return rounds;
}
/// Halving among a number that is no power of two begins and ends with a message of all bytes.
[[nodiscard]] constexpr bool is_power_of_two(int count) { return (count & (count - 1)) == 0; }

/// Bytes of a reduce-scatter and an all-gather of `bytes` among `count`.
[[nodiscard]] constexpr double there_and_back(double bytes, int count) { return 2 * bytes * (count - 1) / count; }

/// The price of a sum over all ranks. Ranks of a host share its link. Each round lasts the latency, and the bytes of
/// all rounds are sent at the full bandwidth of links and memory. Additions are part of the ranks' work.
[[nodiscard]] constexpr exchange_price price_of_sum(network const& between, summed_gradients const& of,
                                                    gradient_sums by) {
  exchange_price result;
  if (of.ranks == 1) return result;
  int const in_host = between.ranks_of_host, hosts = of.ranks / in_host;
  double const bytes = 4.0 * static_cast<double>(of.floats);
  double linked = 0, in_memory = 0, sent = 0;  // bytes of a host's link, and of a rank through memory
  double const extra = is_power_of_two(by == gradient_sums::hierarchical ? hosts : of.ranks) ? 0 : 2 * bytes;
  int const extra_rounds = extra > 0 ? 2 : 0;
  switch (by) {
    case gradient_sums::direct: {
      for (int rank = 0; rank < of.ranks; rank += of.ranks - 1) {
        auto const own = direct_bytes(of, rank);
        if (own > result.bytes) result.bytes = own;
      }
      sent = static_cast<double>(result.bytes);
      linked = in_host * sent * (of.ranks - in_host) / (of.ranks - 1);
      in_memory = sent * (in_host - 1) / (of.ranks - 1);
      result.rounds = 2 * (of.ranks - 1);
      break;
    }
    case gradient_sums::ring:
      sent = there_and_back(bytes, of.ranks);
      linked = hosts > 1 ? sent : 0;
      in_memory = in_host > 1 ? sent : 0;
      result.rounds = 2 * (of.ranks - 1);
      break;
    case gradient_sums::halving:
      sent = there_and_back(bytes, of.ranks) + extra;
      linked = in_host * (there_and_back(bytes, hosts) + (hosts > 1 ? extra : 0));
      in_memory = there_and_back(bytes / hosts, in_host);
      result.rounds = 2 * rounds_of_halving(of.ranks) + extra_rounds;
      break;
    case gradient_sums::hierarchical:
      sent = there_and_back(bytes, in_host) + (there_and_back(bytes, hosts) + extra) / in_host;
      linked = there_and_back(bytes, hosts) + extra;
      in_memory = there_and_back(bytes, in_host);
      result.rounds = 2 * (in_host - 1) + 2 * rounds_of_halving(hosts) + extra_rounds;
      break;
  }
  if (result.bytes == 0) result.bytes = static_cast<std::int64_t>(sent);
  result.latency_seconds = result.rounds * between.latency_us * 1e-6;
  result.seconds =
      result.latency_seconds + linked * 8 / (between.gigabits * 1e9) + in_memory / (between.memory_gigabytes * 1e9);
  return result;
}

/// A training step of a rank: its work, and the sum, of which a part may be hidden.
struct step_price {
  double work_seconds = 0;        ///< forward and backward passes, and the weight update
  double overlapped_seconds = 0;  ///< seconds of the sum during backward passes
  double exposed_seconds = 0;     ///< seconds of the sum in which the rank waits

  [[nodiscard]] constexpr double seconds() const { return work_seconds + exposed_seconds; }
  /// The part of the ranks' time in which they work: what all ranks compute in a step, relative to what as many ranks
  /// without a network would.
  [[nodiscard]] constexpr double efficiency() const { return seconds() > 0 ? work_seconds / seconds() : 1; }
};

/// The price of a step whose sum overlaps, or not, with `backward_seconds` of the last backward pass. The latencies of
/// the last gradients are never hidden.
[[nodiscard]] constexpr step_price price_of_step(double work_seconds, double backward_seconds,
                                                 exchange_price const& sum, bool overlaps) {
  double const hideable = sum.seconds - sum.latency_seconds;
  double const hidden = !overlaps ? 0 : hideable < backward_seconds ? hideable : backward_seconds;
  return {work_seconds, hidden, sum.seconds - hidden};
}

}  // namespace stagecraft::mpi

#include <stagecraft/diagnostics/end_headers.hpp>
