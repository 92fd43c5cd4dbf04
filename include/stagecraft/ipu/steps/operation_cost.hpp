// SPDX-License-Identifier: BSD-3-Clause
// What a task, or several, cost on the tiles of one IPU.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/ipu/cycles/exchange.hpp>
#include <stagecraft/ipu/cycles/integers.hpp>
#include <stagecraft/machines/ipu_target.hpp>
#include <cstdint>

namespace stagecraft::tiles {

/// Cycles of one IPU: each compute set and each exchange takes as long as its slowest tile. A sum of costs is the cost
/// of one task after the other, which need their temporary memory one after the other.
struct operation_cost {
  std::int64_t compute_cycles = 0;   ///< cycles of compute sets: in each, those of the slowest tile
  std::int64_t exchange_cycles = 0;  ///< cycles of exchanges: in each, those of the tile that receives most
  std::int64_t sync_cycles = 0;      ///< cycles of the syncs before exchanges
  std::int64_t flops = 0;            ///< sum over all tiles
  std::int64_t bytes_exchanged = 0;  ///< received by the tile that receives most, in all exchanges
  std::int64_t exchanges = 0;        ///< number of exchanges
  std::int64_t compute_sets = 0;     ///< number of compute sets
  std::int64_t temporary_bytes =
      0;  ///< peak of a tile's copies of operands and partial results, without tensors of the step

  friend constexpr bool operator==(operation_cost const&, operation_cost const&) = default;

  /// All cycles, one after the other.
  [[nodiscard]] constexpr std::int64_t cycles() const noexcept {
    return compute_cycles + exchange_cycles + sync_cycles;
  }

  constexpr operation_cost& operator+=(operation_cost const& other) noexcept {
    compute_cycles += other.compute_cycles;
    exchange_cycles += other.exchange_cycles;
    sync_cycles += other.sync_cycles;
    flops += other.flops;
    bytes_exchanged += other.bytes_exchanged;
    exchanges += other.exchanges;
    compute_sets += other.compute_sets;
    temporary_bytes = larger(temporary_bytes, other.temporary_bytes);
    return *this;
  }

  /// An exchange in which no tile receives more than `bytes`, and the sync before it; nothing for 0 bytes. What a tile
  /// needs is received also if it happens to lie there already; weights lie there on purpose (weight_mapping).
  constexpr void add_exchange(ipu_target const& target, std::int64_t bytes) noexcept {
    if (bytes == 0) return;
    exchange_cycles += stagecraft::exchange_cycles(target, bytes);
    sync_cycles += stagecraft::sync_cycles(target);
    bytes_exchanged += bytes;
    ++exchanges;
  }
  /// A compute set whose longest tile takes `cycles`.
  constexpr void add_compute_set(std::int64_t cycles) noexcept {
    if (cycles == 0) return;
    compute_cycles += cycles;
    ++compute_sets;
  }
};

}  // namespace stagecraft::tiles
