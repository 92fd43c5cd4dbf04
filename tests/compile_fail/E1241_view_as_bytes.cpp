// SPDX-License-Identifier: BSD-3-Clause
// E1241: the bits of floats as a type of 8 bits.
// expect-error: layer 'low' views the bits of float32 as uint8, expected float32 or int32
// expect-error: [E1241]
#include <stagecraft/operations/words.hpp>
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct low : sc::layer<low> {
  static constexpr std::string_view class_name = "Low";
  constexpr auto call(auto& ops, auto x) const {
#ifdef STAGECRAFT_BAD
    return view(x, sc::dtype::uint8) + ops.full({1}, 0.0F);
#else
    return ops.cast(view(x, sc::dtype::int32), sc::dtype::float32) + ops.full({1}, 0.0F);
#endif
  }
};

using net = sc::sequential<input{4}, low{}>;  // <- here
static_assert(sc::call_count<net> >= 2);
