// SPDX-License-Identifier: BSD-3-Clause
// E1197: upstream values of another shape than the tensor whose gradient is asked for.
// expect-error: layer 'weighted_slopes' asks for a gradient of a tensor of shape (2, 1) with upstream values of
// expect-error: shape (2, 4); they have the shape of the tensor [E1197]
#include <stagecraft/operations/words.hpp>
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct weighted_slopes : sc::layer<weighted_slopes> {
  static constexpr std::string_view class_name = "WeightedSlopes";
  constexpr auto call(auto& ops, auto x) const {
    auto const y = ops.sum(square(x), -1);
#ifdef STAGECRAFT_BAD
    return ops.gradient(y, x, {.upstream = x});
#else
    return ops.gradient(y, x, {.upstream = ops.mean(x, -1)});
#endif
  }
};

using net = sc::sequential<input{4}, weighted_slopes{}>;  // <- here
static_assert(sc::call_count<net> == 2);
