// SPDX-License-Identifier: BSD-3-Clause
// Collectives over replicas by a ring: reduce-scatter, all-gather, and both.
#pragma once

#include <stagecraft/description/replicas.hpp>
#include <stagecraft/graph/growing_array.hpp>
#include <stagecraft/ipu/cycles/exchange.hpp>
#include <cstdint>

namespace stagecraft::tiles {

/// Cycles of a phase of the ring: each replica sends a chunk to the next one, IPU by IPU. `chunk(device)` bytes of a
/// device of a replica; the IPUs of replica r begin at r times devices_of_replica(devices).
template <class Chunk>
constexpr std::int64_t ring_phase_cycles(ipu_target const& target, int replicas, int devices, Chunk const& chunk) {
  auto const stride = static_cast<int>(devices_of_replica(devices));
  growing_array<ipu_transfer> transfers;
  for (int replica = 0; replica < replicas; ++replica)
    for (int device = 0; device < devices; ++device)
      if (std::int64_t const bytes = chunk(device); bytes > 0)
        transfers.push_back({replica * stride + device, (replica + 1) % replicas * stride + device, bytes});
  if (transfers.empty()) return 0;
  return inter_ipu_cycles(target, replicas * stride, transfers) + sync_cycles(target, replicas * stride);
}

/// Cycles of an all-gather of `bytes` of one device, a part of which each replica has.
constexpr std::int64_t ring_gather_cycles(ipu_target const& target, int replicas, int devices, int device,
                                          std::int64_t bytes) {
  if (replicas < 2 || bytes == 0) return 0;
  return (replicas - 1) * ring_phase_cycles(target, replicas, devices,
                                            [&](int of) { return of == device ? ceil_div(bytes, replicas) : 0; });
}

}  // namespace stagecraft::tiles
