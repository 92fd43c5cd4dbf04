// SPDX-License-Identifier: BSD-3-Clause
// Cycles of all vertices, as Poplar's IPUModel counts them.
//
// A vertex is a struct in namespace `vertices`, whose members say what it works on. A vertex that all workers of a tile
// share has `cycles(target)`, in tile cycles; a vertex of one worker has `worker_cycles(target)`. Six of these run at
// once, and the tile takes `num_worker_contexts` times the longest. `flops()` counts the floating point operations of
// floating point types: 2 for a multiplication with addition, else 1, unless the vertex says otherwise; time does not
// follow from it.
#pragma once

#include <stagecraft/ipu/cycles/broadcast.hpp>
#include <stagecraft/ipu/cycles/cast.hpp>
#include <stagecraft/ipu/cycles/conv_macs.hpp>
#include <stagecraft/ipu/cycles/conv_partials.hpp>
#include <stagecraft/ipu/cycles/elementwise.hpp>
#include <stagecraft/ipu/cycles/fill.hpp>
#include <stagecraft/ipu/cycles/multi_slice.hpp>
#include <stagecraft/ipu/cycles/non_linearity.hpp>
#include <stagecraft/ipu/cycles/pooling.hpp>
#include <stagecraft/ipu/cycles/reduce.hpp>
#include <stagecraft/ipu/cycles/scaled_add.hpp>
