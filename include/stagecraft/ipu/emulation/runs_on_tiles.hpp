// SPDX-License-Identifier: BSD-3-Clause
// Whether an emulated IPU computes tile by tile.
#pragma once

#include <stagecraft/diagnostics/rooms.hpp>

namespace stagecraft::tiles {

/// Whether the steps of a plan run tile by tile, and not by kernels for the host.
template <class Plan>
inline constexpr bool runs_on_tiles = Plan::machine::checked;

}  // namespace stagecraft::tiles
