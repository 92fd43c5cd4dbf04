// SPDX-License-Identifier: BSD-3-Clause
// E2058: options of a library of Poplar for which nothing is planned.
// expect-error: pipeline has no option slice_options; tables are looked up without a plan
// expect-error: write convolution_options or matmul_options
// expect-error: [E2058]
#include <stagecraft/description/training.hpp>
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;

#ifdef STAGECRAFT_BAD
inline constexpr sc::pipeline_stage_options own{.slice_options = 0.1F};  // <- here
#else
inline constexpr sc::pipeline_stage_options own{.matmul_options = {.available_memory_proportion = 0.1F}};
#endif

static_assert(!own.convolution_options.given());
