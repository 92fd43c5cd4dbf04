// SPDX-License-Identifier: BSD-3-Clause
// E1065: a slice takes an element that its tensor does not have.
// expect-error: takes nothing of axis 2, or an element that it does not have, of a tensor of shape (3, 4)
// expect-error: [E1065]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct last_column : sc::functional<last_column> {
  static constexpr auto build(auto& model) {
    auto x = model.input(3, 4);
#ifdef STAGECRAFT_BAD
    return x[{sc::all(), sc::all(), 4}];
#else
    return x[{sc::all(), sc::all(), -1}];
#endif
  }
};
static_assert(sc::output_shape_of<last_column, 1> == sc::shape(3));  // <- here
