// SPDX-License-Identifier: BSD-3-Clause
// E1078: a factor that does not divide the units.
// expect-error: layer 'serial_dense' has a serialization_factor of 3, which does not divide the 8 elements of its axis
// expect-error: [E1078]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using net = sc::sequential<input{6}, serial_dense{8, 3, sc::serialization_dimension::kernel_rows}>;  // <- here
#else
using net = sc::sequential<input{6}, serial_dense{8, 2, sc::serialization_dimension::kernel_rows}>;
#endif
static_assert(sc::call_count<net> == 2);
