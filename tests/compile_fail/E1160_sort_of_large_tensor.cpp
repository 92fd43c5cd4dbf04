// SPDX-License-Identifier: BSD-3-Clause
// E1160: single elements of a tensor that floats cannot count.
// expect-error: layer 'ranked' chooses single elements of a tensor of shape (2, 10000000), which has more than 2^24: indices
// expect-error: are floats; split the tensor or the batch
// expect-error: [E1160]
#include <stagecraft/operations/words.hpp>
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct ranked : sc::layer<ranked> {
  static constexpr std::string_view class_name = "Ranked";
  constexpr auto call(auto& ops, auto x) const { return ops.top_k(x, 3).values; }
};

#ifdef STAGECRAFT_BAD
using net = sc::sequential<input{10000000}, ranked{}>;  // <- here
#else
using net = sc::sequential<input{10000}, ranked{}>;
#endif
static_assert(sc::call_count<net> == 2);
