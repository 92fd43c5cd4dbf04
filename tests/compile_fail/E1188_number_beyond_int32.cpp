// SPDX-License-Identifier: BSD-3-Clause
// E1188: a whole number beyond int32 beside a tensor of int32.
// expect-error: layer 'far' computes with a tensor of int32 and a number that int32 does not have
// expect-error: [E1188]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct far : sc::layer<far> {
  static constexpr std::string_view class_name = "Far";
  constexpr auto call(auto& ops, auto x) const {
#ifdef STAGECRAFT_BAD
    return ops.cast(x + 3000000000, sc::dtype::float32);
#else
    return ops.cast(x + 2000000000, sc::dtype::float32);
#endif
  }
};

using net = sc::sequential<input{4}.of_type(sc::dtype::int32), far{}>;  // <- here
static_assert(sc::call_count<net> >= 2);
