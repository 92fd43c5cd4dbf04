// SPDX-License-Identifier: BSD-3-Clause
// E2025: a predictor works on a number of micro-batches that does not fill the pipeline.
// expect-error: the inference has steps_per_execution 1, but in predict the grouped schedule of 2
// expect-error: stages works on 2 micro-batches at once; it must be a multiple of 2, such as 2
// expect-error: [E2025]
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/predictor.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{128, sc::relu}, dense{10}>;
using two_stages = sc::pipelined<mlp, sc::stages<0, 0, 1>>;

#ifdef STAGECRAFT_BAD
inline constexpr auto description = sc::inference{.batch_size = 1};
#else
inline constexpr auto description = sc::inference{.batch_size = 1, .steps_per_execution = 2};
#endif

auto predict(sc::sample_set const& x) {
  sc::predictor<two_stages, description> model;  // <- here
  return model.predict(x);
}
