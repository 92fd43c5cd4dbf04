// SPDX-License-Identifier: BSD-3-Clause
// E1195: a gradient by a tensor that does not lead to the value.
// expect-error: layer 'penalized' asks for the gradient of a tensor of shape (2, 4) by one of shape (2, 4)
// expect-error: that does not lead to it: the first depends on the second by comparisons or by a stop_gradient alone, or
// expect-error: not at all [E1195]
#include <stagecraft/operations/words.hpp>
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct penalized : sc::layer<penalized> {
  static constexpr std::string_view class_name = "Penalized";
  constexpr auto call(auto& ops, auto x) const {
    auto const y = square(x);
#ifdef STAGECRAFT_BAD
    auto const slope = ops.gradient(y, square(x));
#else
    auto const slope = ops.gradient(y, x);
#endif
    ops.add_loss(square(slope));
    return y;
  }
};

using net = sc::sequential<input{4}, penalized{}>;  // <- here
static_assert(sc::call_count<net> == 4);
