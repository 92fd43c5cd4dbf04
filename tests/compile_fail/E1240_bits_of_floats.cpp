// SPDX-License-Identifier: BSD-3-Clause
// E1240: bits of a tensor of floats.
// expect-error: layer 'low' calls bitwise_and with a tensor of float32, expected int32
// expect-error: [E1240]
#include <stagecraft/operations/words.hpp>
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct low : sc::layer<low> {
  static constexpr std::string_view class_name = "Low";
  constexpr auto call(auto& ops, auto x) const {
#ifdef STAGECRAFT_BAD
    return ops.cast(bitwise_and(x, 255), sc::dtype::float32);
#else
    return ops.cast(bitwise_and(ops.cast(x, sc::dtype::int32), 255), sc::dtype::float32);
#endif
  }
};

using net = sc::sequential<input{4}, low{}>;  // <- here
static_assert(sc::call_count<net> >= 2);
