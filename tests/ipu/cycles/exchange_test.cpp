// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/ipu/cycles/exchange.hpp>
#include <doctest/doctest.h>
#include <vector>

namespace sc = stagecraft;
using sc::exchange_cycles;
using sc::inter_ipu_cycles;
using sc::sync_cycles;
using sc::tiles::ipu_transfer;
namespace ipus = sc::ipu_targets;

namespace {

// 4 bytes per cycle; 8 where both tiles of a bus receive the same data.
static_assert(exchange_cycles(ipus::ipu2, 1000) == 250 && exchange_cycles(ipus::ipu2, 1001) == 251);
static_assert(exchange_cycles(ipus::ipu2, 1000, 2) == 125 && exchange_cycles(ipus::ipu2, 1000, 8) == 125);
static_assert(exchange_cycles(ipus::ipu2, 1000, 3) == 250 && exchange_cycles(ipus::ipu2, 0) == 0);
// 5.3 bytes per cycle are 85 sixteenths: ceil(16000 / 85).
constexpr sc::ipu_target odd{.exchange_bytes_per_cycle = 5.3F};
static_assert(exchange_cycles(odd, 1000) == 189);

// All tiles of a GC200 together receive 7.8 TB in a second of exchange.
static_assert(1472 * 5'320'000'000 / exchange_cycles(ipus::ipu2, 5'320'000'000) * ipus::ipu2.tile_clock_frequency ==
              ipus::ipu2.exchange_bytes_per_second());

// Within an IPU 126 cycles. Two IPUs: one hop there and back, 30 ns, are 40 cycles of 1.33 GHz: at least 600.
static_assert(sync_cycles(ipus::ipu2) == 126 && sync_cycles(ipus::ipu2, 2) == 600);
// 64 IPUs: 17 hops, 510 ns x 1.33 GHz = 678.3.
static_assert(sync_cycles(ipus::ipu2, 64) == 679);
static_assert(sync_cycles(ipus::ipu1, 64) == 816);
constexpr sc::ipu_target quick{.global_sync_cycles = 0};
static_assert(sync_cycles(quick, 2) == 40 && sync_cycles(quick, 4) == 80 && sync_cycles(quick, 6) == 80);

// 128 Gibit/s x 0.85 are 14,602,888,806 bytes per second of a link; 4 of them 43.9 bytes per cycle of GC200.
static_assert(sc::detail::link_bytes_per_second(ipus::ipu2, sc::detail::ipu_link::within_pair) == 4 * 14'602'888'806);
// 1,000,000 bytes x 1,330,000 kHz / 58,411,555 kB/s = 22,769.5
static_assert(inter_ipu_cycles(ipus::ipu2, {.from = 0, .to = 1, .bytes = 1'000'000}) == 22'770);
// Along the ladder there are two links, 29,205,777 kB/s: 45,538.94 cycles, however far it is, on one side or across.
static_assert(inter_ipu_cycles(ipus::ipu2, {.from = 0, .to = 2, .bytes = 1'000'000}) == 45'539);
static_assert(inter_ipu_cycles(ipus::ipu2, {.from = 7, .to = 0, .bytes = 1'000'000}) == 45'539);
static_assert(inter_ipu_cycles(ipus::ipu2, {.from = 3, .to = 3, .bytes = 1'000'000}) == 0);

// Ways: 0 to 5 changes to 1, goes up to 3, then to 5. 5 to 0 changes to 4, goes down.
using sc::detail::ipu_link;
using sc::detail::passes_link;
static_assert(passes_link(0, 5, 0, ipu_link::across_ladder) && !passes_link(0, 5, 1, ipu_link::across_ladder));
static_assert(passes_link(0, 5, 1, ipu_link::up) && passes_link(0, 5, 3, ipu_link::up));
static_assert(!passes_link(0, 5, 5, ipu_link::up) && !passes_link(0, 5, 0, ipu_link::up));
static_assert(!passes_link(0, 5, 3, ipu_link::down) && !passes_link(0, 5, 0, ipu_link::within_pair));
static_assert(passes_link(5, 0, 5, ipu_link::across_ladder) && passes_link(5, 0, 4, ipu_link::down));
static_assert(passes_link(5, 0, 2, ipu_link::down) && !passes_link(5, 0, 0, ipu_link::down));
static_assert(passes_link(2, 3, 2, ipu_link::within_pair) && !passes_link(2, 3, 3, ipu_link::within_pair));
static_assert(!passes_link(2, 3, 2, ipu_link::across_ladder));

constexpr std::int64_t cycles_of_all(int num_ipus, auto const&... transfers) {
  ipu_transfer const all[]{transfers...};
  return inter_ipu_cycles(ipus::ipu2, num_ipus, all);
}
constexpr std::int64_t million = 1'000'000;
// Both directions of a pair at once, and different pairs, do not wait for each other.
static_assert(cycles_of_all(4, ipu_transfer{0, 1, million}, ipu_transfer{1, 0, million}, ipu_transfer{2, 3, million}) ==
              22'770);
// A pipeline along one side: each link has one transfer.
static_assert(cycles_of_all(6, ipu_transfer{0, 2, million}, ipu_transfer{2, 4, million}) == 45'539);
// 0 to 4 and 2 to 4 share the link from 2 to 4: 91,077.9.
static_assert(cycles_of_all(6, ipu_transfer{0, 4, million}, ipu_transfer{2, 4, million}) == 91'078);

// The host: 50,000 cycles, and 1,000,000 x 1,330,000 / 7,516,192 = 176,951.3.
static_assert(sc::host_cycles(ipus::ipu2, million) == 50'000 + 176'952 && sc::host_cycles(ipus::ipu2, 0) == 0);
static_assert(sc::tiles::streaming_memory_cycles(ipus::ipu2, million) == sc::host_cycles(ipus::ipu2, million));

}  // namespace

TEST_CASE("a transfer between IPUs takes as long alone as in a phase of its own") {
  for (int from = 0; from < 8; ++from)
    for (int to = 0; to < 8; ++to) {
      std::vector<ipu_transfer> const one{{from, to, 12345}};
      CHECK(inter_ipu_cycles(ipus::bow, 8, one) == inter_ipu_cycles(ipus::bow, one[0]));
    }
}

TEST_CASE("what goes over a ladder arrives") {
  for (int from = 0; from < 10; ++from)
    for (int to = 0; to < 10; ++to) {
      // Follow the links from IPU to IPU.
      int at = from, steps = 0;
      while (at != to && steps < 10) {
        ++steps;
        if (passes_link(from, to, at, ipu_link::within_pair) || passes_link(from, to, at, ipu_link::across_ladder))
          at ^= 1;
        else if (passes_link(from, to, at, ipu_link::up))
          at += 2;
        else if (passes_link(from, to, at, ipu_link::down))
          at -= 2;
      }
      CHECK(at == to);
      CHECK(steps == (from % 2 != to % 2 ? 1 : 0) + (from / 2 > to / 2 ? from / 2 - to / 2 : to / 2 - from / 2));
    }
}
