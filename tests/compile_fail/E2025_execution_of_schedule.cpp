// SPDX-License-Identifier: BSD-3-Clause
// E2025: evaluate and predict work on a number of micro-batches that does not fill the pipeline.
// expect-error: the training has steps_per_execution 1, but in evaluate and predict the grouped schedule of 2
// expect-error: stages works on 2 micro-batches at once; it must be a multiple of 2, such as 2
// expect-error: [E2025]
#include <stagecraft/description/training.hpp>
#include <stagecraft/pipeline.hpp>
#include <stagecraft/plan/timetable_of.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{128, sc::relu}, dense{10}>;
using two_stages = sc::pipelined<mlp, sc::stages<0, 0, 1>>;

#ifdef STAGECRAFT_BAD
inline constexpr auto description = sc::training{.steps_per_execution = 1};
#else
inline constexpr auto description = sc::training{.steps_per_execution = 8};
#endif

static_assert(sc::pipeline_slots<two_stages, description, sc::execution_mode::inference> == 9);  // <- here
