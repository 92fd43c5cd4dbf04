// SPDX-License-Identifier: BSD-3-Clause
// E3042: a solution file names a layer that the model does not have.
// expect-error: the solution file has a stage for 'dense_3', which is no layer of model 'sequential'
// expect-error: [E3042]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{16}, dense{16, sc::relu}, dense{16, sc::relu}, dense{4}>;

#ifdef STAGECRAFT_BAD
inline constexpr char solution[] = R"({"pipeline_mapping": {"dense": 0, "dense_1": 0, "dense_3": 1}})";
#else
inline constexpr char solution[] =
    R"({"device_mapping": [0, 1], "pipeline_mapping": {"dense": 0, "dense_1": 0, "dense_2": 1}})";
#endif

using staged = sc::pipelined<mlp, sc::pipeline::solution_file<solution>>;  // <- here
static_assert(sc::pipeline_stages<staged> == 2);
