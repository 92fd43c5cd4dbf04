// SPDX-License-Identifier: BSD-3-Clause
// E1004: a nested model is called with a tensor of another shape than its input.
//
// A model that begins with an input of its own fixes the shape that it takes. Give it a tensor of that shape, or
// leave out its input so that it takes the shape of the call.
//
// expect-error: model 'sequential' has an input of shape (16,), but is called with (8,)
// expect-error: [E1004]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using encoder = sc::sequential<input{16}, dense{4}>;

#ifdef STAGECRAFT_BAD
struct net : sc::functional<net> {
  static constexpr auto build(auto& model) {
    return encoder{}(model.input(8));
  }
};
#else
struct net : sc::functional<net> {
  static constexpr auto build(auto& model) {
    return encoder{}(model.input(16));
  }
};
#endif

static_assert(sc::call_count<net> >= 1);
