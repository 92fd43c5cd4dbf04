// SPDX-License-Identifier: BSD-3-Clause
// E1064: an operator between tensors whose shapes do not fit.
// expect-error: layer 'tf.math.multiply' is an operator between tensors of shapes (3, 4) and (4,)
// expect-error: [E1064]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct scaled : sc::functional<scaled> {
  static constexpr auto build(auto& model) {
    auto x = model.input(3, 4), factors = model.input(4);
#ifdef STAGECRAFT_BAD
    return dense{2}(x * factors);
#else
    return dense{2}(multiply{}(x, factors));
#endif
  }
};
static_assert(sc::count_parameters<scaled>() == 10);  // <- here
