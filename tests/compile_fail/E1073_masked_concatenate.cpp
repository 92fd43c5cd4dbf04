// SPDX-License-Identifier: BSD-3-Clause
// E1073: a layer that cannot leave out steps is given a masked sequence.
// expect-error: a layer Concatenate is given a sequence some of whose steps are masked, and cannot leave them out
// expect-error: [E1073]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
inline constexpr bool masked = true;
#else
inline constexpr bool masked = false;
#endif

struct twice : sc::functional<twice> {
  static constexpr auto build(auto& model) {
    auto x = embedding(50, 8, {.mask_zero = masked})(model.input(9));
    return lstm(4)(concatenate(1)(x, x));
  }
};
static_assert(sc::call_count<twice> == 4);  // <- here
