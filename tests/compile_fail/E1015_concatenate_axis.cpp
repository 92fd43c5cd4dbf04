// SPDX-License-Identifier: BSD-3-Clause
// E1015: concatenate joins along an axis that its inputs do not have.
// expect-error: layer 'concatenate' joins along axis 3, which is not an axis of an input of shape (8, 8)
// expect-error: [E1015] (E1015_concatenate_axis.cpp:15)
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
struct net : sc::functional<net> {
  static constexpr auto build(auto& model) {
    auto x = model.input(8, 8);
    auto y = model.input(8, 8);
    return concatenate{3}(x, y);
  }
};
#else
struct net : sc::functional<net> {
  static constexpr auto build(auto& model) {
    auto x = model.input(8, 8);
    auto y = model.input(8, 8);
    return concatenate{2}(x, y);
  }
};
#endif

static_assert(sc::call_count<net> >= 1);
