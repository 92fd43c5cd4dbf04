// SPDX-License-Identifier: BSD-3-Clause
// E1025: a convolution without filters and kernel size.
// expect-error: layer Conv2D cannot be made from what its braces hold; write conv2d{filters, kernel_size}
// expect-error: [E1025]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct net : sc::functional<net> {
  static constexpr auto build(auto& model) {
    auto x = model.input(28, 28, 1);
#ifdef STAGECRAFT_BAD
    x = conv2d{}(x);  // <- here
#else
    x = conv2d{8, 3}(x);
#endif
    return dense(10)(flatten()(x));
  }
};

static_assert(sc::call_count<net> == 4);
