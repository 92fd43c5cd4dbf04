// SPDX-License-Identifier: BSD-3-Clause
// E1004: a nested model is called with a tensor of another shape than its input.
// expect-error: model 'sequential' has an input of shape (16,), but is called with (8,)
// expect-error: [E1004] (E1004_nested_input_shape.cpp:15)
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
