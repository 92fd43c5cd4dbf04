// SPDX-License-Identifier: BSD-3-Clause
// E1186: a sum of int32.
// expect-error: layer 'total' has an operation that computes with floats, but is given elements of the type int32
// expect-error: [E1186]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct total : sc::layer<total> {
  static constexpr std::string_view class_name = "Total";
  constexpr auto call(auto& ops, auto x) const {
#ifdef STAGECRAFT_BAD
    return ops.sum(x, -1);
#else
    return ops.sum(ops.cast(x, sc::dtype::float32), -1);
#endif
  }
};

using net = sc::sequential<input{4}.of_type(sc::dtype::int32), total{}>;  // <- here
static_assert(sc::call_count<net> >= 2);
