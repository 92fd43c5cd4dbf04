// SPDX-License-Identifier: BSD-3-Clause
// E1025: a layer of windows, of a family with one base, without filters and kernel size.
// expect-error: layer LocallyConnected1D cannot be made from what its braces hold; write locally_connected1d{filters,
// expect-error: [E1025]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct net : sc::functional<net> {
  static constexpr auto build(auto& model) {
    auto x = model.input(28, 8);
#ifdef STAGECRAFT_BAD
    x = locally_connected1d{}(x);  // <- here
#else
    x = locally_connected1d{8, 3}(x);
#endif
    return dense(10)(flatten()(x));
  }
};

static_assert(sc::call_count<net> == 4);
