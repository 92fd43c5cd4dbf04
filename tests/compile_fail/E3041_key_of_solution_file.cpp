// SPDX-License-Identifier: BSD-3-Clause
// E3041: a solution file has a key that is none.
// expect-error: the solution file has a key 'pipeline_stages'; there are 'pipeline_mapping' and 'device_mapping'
// expect-error: [E3041]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{16}, dense{16, sc::relu}, dense{16, sc::relu}, dense{4}>;

#ifdef STAGECRAFT_BAD
inline constexpr char solution[] = R"({"pipeline_stages": {"dense": 0, "dense_1": 0, "dense_2": 1}})";
#else
inline constexpr char solution[] =
    R"({"device_mapping": [0, 1], "pipeline_mapping": {"dense": 0, "dense_1": 0, "dense_2": 1}})";
#endif

using staged = sc::pipelined<mlp, sc::pipeline::solution_file<solution>>;  // <- here
static_assert(sc::pipeline_stages<staged> == 2);
