// SPDX-License-Identifier: BSD-3-Clause
// E2058: an option of Graphcore's pipelines that is said elsewhere.
// expect-error: pipeline has no option gradient_accumulation_count
// expect-error: write gradient_accumulation_steps_per_replica, the number of one replica
// expect-error: [E2058]
#include <stagecraft/description/training.hpp>
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;

#ifdef STAGECRAFT_BAD
inline constexpr auto training =
    sc::training{.steps_per_execution = 16, .pipeline = {.gradient_accumulation_count = 8}};  // <- here
#else
inline constexpr auto training =
    sc::training{.steps_per_execution = 16, .pipeline = {.gradient_accumulation_steps_per_replica = 8}};
#endif

static_assert(training.steps_per_execution == 16);
