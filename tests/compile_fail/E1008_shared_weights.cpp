// SPDX-License-Identifier: BSD-3-Clause
// E1008: a layer is called again with inputs that its weights do not fit.
// expect-error: layer 'dense' is called again
// expect-error: its weight 'kernel' would have shape (32, 4), but it was made with (16, 4)
// expect-error: [E1008] (E1008_shared_weights.cpp:16)
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
struct net : sc::functional<net> {
  static constexpr auto build(auto& model) {
    dense encode(4);
    auto left = encode(model.input(16));
    auto right = encode(model.input(32));
    return add{}(left, right);
  }
};
#else
struct net : sc::functional<net> {
  static constexpr auto build(auto& model) {
    dense encode_left(4), encode_right(4);
    auto left = encode_left(model.input(16));
    auto right = encode_right(model.input(32));
    return add{}(left, right);
  }
};
#endif

static_assert(sc::call_count<net> >= 1);
