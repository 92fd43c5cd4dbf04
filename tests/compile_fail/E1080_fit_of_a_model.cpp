// SPDX-License-Identifier: BSD-3-Clause
// E1080: a model, which is a type, is trained without a trainer.
// expect-error: fit, evaluate, predict or compile is called on a model, which is a type without weights here
// expect-error: [E1080]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{10}>;

int main() {
#ifdef STAGECRAFT_BAD
  mlp model;
  model.fit(1, 2);  // <- here
#else
  static_assert(sc::call_count<mlp> == 3);
#endif
}
