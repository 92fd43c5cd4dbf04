// SPDX-License-Identifier: BSD-3-Clause
// E1063: a nested model's code makes other layers in its second call.
// expect-error: makes a layer Flatten where its first call made 'dense' (Dense)
// expect-error: [E1063]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct by_shape : sc::model<by_shape> {
  dense project{4};
  flatten flat;
#ifdef STAGECRAFT_BAD
  constexpr auto call(auto&, auto x) { return x.shape().rank() == 1 ? project(x) : flat(x); }
#else
  constexpr auto call(auto&, auto x) { return project(flat(x)); }
#endif
};
struct twice : sc::functional<twice> {
  static constexpr auto build(auto& model) {
    sc::sequential<by_shape{}> inner;
    auto x = inner(model.input(4));
    return concatenate{}(x, inner(model.input(2, 2)));
  }
};
static_assert(sc::count_parameters<twice>() == 20);  // <- here
