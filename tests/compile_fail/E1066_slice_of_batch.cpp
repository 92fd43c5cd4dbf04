// SPDX-License-Identifier: BSD-3-Clause
// E1066: a slice of the batch.
// expect-error: slices the batch, which is axis 0; begin with sc::all() or sc::ellipsis()
// expect-error: [E1066]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct first_rows : sc::functional<first_rows> {
  static constexpr auto build(auto& model) {
    auto x = model.input(3, 4);
#ifdef STAGECRAFT_BAD
    return x[{sc::slice(2)}];
#else
    return x[{sc::all(), sc::slice(2)}];
#endif
  }
};
static_assert(sc::output_shape_of<first_rows, 1> == sc::shape(2, 4));  // <- here
