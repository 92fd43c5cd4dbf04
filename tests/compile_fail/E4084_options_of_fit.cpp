// SPDX-License-Identifier: BSD-3-Clause
// E4084: an option that fit does not have.
// expect-error: fit is given an option that it does not have, or one of another type; its options
// expect-error: [E4084]
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using line = sc::sequential<input{3}, dense{1}>;
inline constexpr sc::training training{};

int main() {
  xt::xtensor<float, 2> const x({8, 3}, 1.0F), y({8, 1}, 1.0F);
  sc::trainer<line, training> model;
#ifdef STAGECRAFT_BAD
  model.fit(x, y, {.epoch = 2});  // <- here
#else
  model.fit(x, y, {.epochs = 2});
#endif
}
