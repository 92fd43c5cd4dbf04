// SPDX-License-Identifier: BSD-3-Clause
// E1025: an option that the layer does not have. GCC names it, too.
// expect-error: cannot be made from what its braces hold
// expect-error: [E1025]
// most-error-lines: 2 (GCC: designator)
// most-error-lines: 2 (Clang: designator)
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct net : sc::functional<net> {
  static constexpr auto build(auto& model) {
    auto x = model.input(28, 28, 1);
#ifdef STAGECRAFT_BAD
    x = conv2d(8, 3, sc::relu, {.stride = 2})(x);  // <- here
#else
    x = conv2d(8, 3, sc::relu, {.strides = 2})(x);
#endif
    return dense(10)(flatten()(x));
  }
};

static_assert(sc::call_count<net> == 4);
