// SPDX-License-Identifier: BSD-3-Clause
// Cycles of everything but computing: exchange between the tiles of an IPU, syncs, transfers between IPUs, to and from
// the host and streaming memory.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/ipu/cycles/integers.hpp>
#include <stagecraft/machines/ipu_target.hpp>
#include <cstdint>

namespace stagecraft {

/// Cycles of an exchange phase in which no tile receives (or sends) more than `bytes` bytes. If `same_data_receivers`
/// neighbouring tiles receive the same data, and all tiles that share a bus do, they receive them that much faster.
/// Source: poplibs, lib/poplin/ExchangeEstimator.hpp, which counts in sixteenths of a byte, too.
[[nodiscard]] constexpr std::int64_t exchange_cycles(ipu_target const& target, std::int64_t bytes,
                                                     std::int64_t same_data_receivers = 1) noexcept {
  std::int64_t sixteenths = static_cast<std::int64_t>(target.exchange_bytes_per_cycle * 16 + 0.5F);
  if (sixteenths < 1) sixteenths = 1;
  if (same_data_receivers > 1 && same_data_receivers % target.tiles_per_shared_exchange_bus == 0)
    sixteenths *= target.tiles_per_shared_exchange_bus;
  return detail::ceil_div(16 * bytes, sixteenths);
}

/// Cycles of a sync of `num_ipus` IPUs, from the last tile's arrival to its release. Within an IPU,
/// ipu_target::max_ipu_sync_delay. Several IPUs: there and back, one hop within a card and one for each two pairs, but
/// at least ipu_target::global_sync_cycles.
/// Source: poplibs, lib/poplibs_test/Util.cpp, setGlobalSyncLatency.
[[nodiscard]] constexpr std::int64_t sync_cycles(ipu_target const& target, int num_ipus = 1) noexcept {
  if (num_ipus < 2) return target.max_ipu_sync_delay;
  std::int64_t const hops = 1 + num_ipus / 2 / 2;
  std::int64_t const nanoseconds = 2 * hops * target.sync_hop_nanoseconds;
  return detail::larger(target.global_sync_cycles,
                        detail::ceil_div(nanoseconds * (target.tile_clock_frequency / 1000), 1'000'000));
}

}  // namespace stagecraft

namespace stagecraft::tiles {

/// Bytes that one IPU sends to another.
struct ipu_transfer {
  int from = 0;
  int to = 0;
  std::int64_t bytes = 0;
};

/// Cycles for bytes at a speed, of both in thousands so that products fit: up to 5 * 10^12 bytes.
[[nodiscard]] constexpr std::int64_t cycles_at(ipu_target const& target, std::int64_t bytes,
                                               std::int64_t bytes_per_second) noexcept {
  return ceil_div(bytes * (target.tile_clock_frequency / 1000), bytes_per_second / 1000);
}

/// The links of an IPU: to the other of its pair, for what ends there; to the other side of the ladder, for what goes
/// on from there; to the pair above, to the pair below.
enum class ipu_link : unsigned char { within_pair, across_ladder, up, down };

[[nodiscard]] constexpr std::int64_t link_bytes_per_second(ipu_target const& target, ipu_link link) noexcept {
  int const links = link == ipu_link::within_pair     ? target.links_within_pair
                    : link == ipu_link::across_ladder ? target.links_across_ladder
                                                      : target.links_along_ladder;
  return target.ipu_link_bits_per_second / 8 * target.ipu_link_efficiency_percent / 100 * links;
}

/// True if data from one IPU to another pass a link of `ipu`. They first change to the other side of the ladder, if
/// they must, and then go up or down on it.
[[nodiscard]] constexpr bool passes_link(int from, int to, int ipu, ipu_link link) noexcept {
  if (from == to) return false;
  bool const in_one_pair = from / 2 == to / 2;
  bool const changes_side = from % 2 != to % 2;
  switch (link) {
    case ipu_link::within_pair: return in_one_pair && ipu == from;
    case ipu_link::across_ladder: return !in_one_pair && changes_side && ipu == from;
    case ipu_link::up: return ipu % 2 == to % 2 && ipu / 2 >= from / 2 && ipu / 2 < to / 2;
    default: return ipu % 2 == to % 2 && ipu / 2 <= from / 2 && ipu / 2 > to / 2;
  }
}

}  // namespace stagecraft::tiles

namespace stagecraft {

/// Cycles of an exchange phase between IPUs: those of the link with most to carry, without the sync. IPUs 0 and 1 are a
/// pair, 2 and 3 the next; pairs stand one above the other, and each IPU has links to the one above and below.
/// Source: poplibs, lib/poplibs_test/Util.cpp, addGlobalExchangeConstraints.
[[nodiscard]] constexpr std::int64_t inter_ipu_cycles(
    ipu_target const& target, int num_ipus, tracing::array_view<tiles::ipu_transfer const> transfers) noexcept {
  using detail::ipu_link;
  std::int64_t longest = 0;
  for (auto const link : {ipu_link::within_pair, ipu_link::across_ladder, ipu_link::up, ipu_link::down})
    for (int ipu = 0; ipu < num_ipus; ++ipu) {
      std::int64_t bytes = 0;
      for (auto const& transfer : transfers)
        if (detail::passes_link(transfer.from, transfer.to, ipu, link)) bytes += transfer.bytes;
      if (bytes > 0)
        longest =
            detail::larger(longest, detail::cycles_at(target, bytes, detail::link_bytes_per_second(target, link)));
    }
  return longest;
}

/// Cycles of one transfer between IPUs alone.
[[nodiscard]] constexpr std::int64_t inter_ipu_cycles(ipu_target const& target,
                                                      tiles::ipu_transfer const& transfer) noexcept {
  if (transfer.from == transfer.to) return 0;
  // All links are as good as those to the other of a pair, or as the narrowest on the way.
  using detail::ipu_link;
  std::int64_t speed = detail::link_bytes_per_second(target, ipu_link::within_pair);
  if (transfer.from / 2 != transfer.to / 2) {
    speed = detail::link_bytes_per_second(target, ipu_link::up);
    if (transfer.from % 2 != transfer.to % 2)
      speed = detail::smaller(speed, detail::link_bytes_per_second(target, ipu_link::across_ladder));
  }
  return detail::cycles_at(target, transfer.bytes, speed);
}

/// Cycles of a transfer between host and IPU, in either direction; none for 0 bytes.
[[nodiscard]] constexpr std::int64_t host_cycles(ipu_target const& target, std::int64_t bytes) noexcept {
  if (bytes == 0) return 0;
  return target.host_latency_cycles + detail::cycles_at(target, bytes, target.host_bytes_per_second);
}

}  // namespace stagecraft

namespace stagecraft::tiles {

/// Cycles of a transfer between streaming memory and IPU, in either direction; none for 0 bytes.
[[nodiscard]] constexpr std::int64_t streaming_memory_cycles(ipu_target const& target, std::int64_t bytes) noexcept {
  if (bytes == 0) return 0;
  return target.streaming_memory_latency_cycles + cycles_at(target, bytes, target.streaming_memory_bytes_per_second);
}

}  // namespace stagecraft::tiles
