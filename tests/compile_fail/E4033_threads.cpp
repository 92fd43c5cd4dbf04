// SPDX-License-Identifier: BSD-3-Clause
// E4033: the host is asked for more threads than it runs.
// expect-error: stagecraft: host<> runs a step on one thread
// expect-error: [E4033]
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using machine = sc::host<4>;
#else
using machine = sc::host<>;
#endif

static_assert(sizeof(machine) > 0);  // <- here
