// SPDX-License-Identifier: BSD-3-Clause
// E3044: a solution file has another number of devices than of stages.
// expect-error: the solution file has 3 entries in 'device_mapping', but 2 stages in 'pipeline_mapping'
// expect-error: [E3044]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{16}, dense{16, sc::relu}, dense{16, sc::relu}, dense{4}>;

#ifdef STAGECRAFT_BAD
inline constexpr char solution[] =
    R"({"device_mapping": [0, 1, 2], "pipeline_mapping": {"dense": 0, "dense_1": 0, "dense_2": 1}})";
#else
inline constexpr char solution[] =
    R"({"device_mapping": [0, 1], "pipeline_mapping": {"dense": 0, "dense_1": 0, "dense_2": 1}})";
#endif

using staged = sc::pipelined<mlp, sc::pipeline::solution_file<solution>>;  // <- here
static_assert(sc::pipeline_stages<staged> == 2);
