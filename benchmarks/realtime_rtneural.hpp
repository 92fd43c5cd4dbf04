// SPDX-License-Identifier: BSD-3-Clause
// RTNeural beside the library. A back end is chosen by macros, so that each is a translation unit of its own, in which
// RTNeural has a namespace of its own.
#pragma once

#include "realtime_rows.hpp"

namespace stagecraft::benchmarks {

/// Checks and registers RTNeural's program of a row, if there is one.
void add_rtneural_eigen(network_row const& row);
void add_rtneural_xsimd(network_row const& row);

}  // namespace stagecraft::benchmarks
