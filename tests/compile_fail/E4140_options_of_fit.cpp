// SPDX-License-Identifier: BSD-3-Clause
// E4140: fit of a dataset, with an option of arrays.
// expect-error: fit is given a dataset with an option that it does not have there
// expect-error: [E4140]
#include <stagecraft/data/from.hpp>
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using line = sc::sequential<input{3}, dense{1}>;
inline constexpr sc::training training{};

int main() {
  xt::xtensor<float, 2> const x({8, 3}, 1.0F), y({8, 1}, 1.0F);
  auto const data = sc::data::from(x, y).batch(4);
  sc::trainer<line, training> model;
#ifdef STAGECRAFT_BAD
  model.fit(data, {.batch_size = 32});  // <- here
#else
  model.fit(data, {.verbose = 0});
#endif
}
