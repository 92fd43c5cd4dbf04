// SPDX-License-Identifier: BSD-3-Clause
// E4084: predict of a dataset, with an option of arrays.
// expect-error: predict is given an option that it does not have, or one of another type
// expect-error: [E4084]
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
  model.predict(data, {.batch_size = 32});  // <- here
#else
  model.predict(data, {.verbose = 0});
#endif
}
