// SPDX-License-Identifier: BSD-3-Clause
// E1014: the inputs of a merging layer have shapes that do not fit.
// expect-error: layer 'add' expects inputs whose shapes fit, but input 0 has (32,) and input 1 has (64,)
// expect-error: [E1014] (E1014_merge_shapes.cpp:15)
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
struct net : sc::functional<net> {
  static constexpr auto build(auto& model) {
    auto x = model.input(32);
    auto y = dense(64, sc::relu)(x);
    return dense(10)(add{}(x, y));
  }
};
#else
struct net : sc::functional<net> {
  static constexpr auto build(auto& model) {
    auto x = model.input(32);
    auto y = dense(32, sc::relu)(x);
    return dense(10)(add{}(x, y));
  }
};
#endif

static_assert(sc::call_count<net> == 4);
static_assert(std::same_as<sc::layer_t<net, 2>, add>);
static_assert(sc::output_shape_of<net, 3> == sc::shape(10));
