// SPDX-License-Identifier: BSD-3-Clause
// E1187: a conversion to a type that tensors of a call do not have.
// expect-error: layer 'narrow' converts a tensor to float16
// expect-error: [E1187]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct narrow : sc::layer<narrow> {
  static constexpr std::string_view class_name = "Narrow";
  constexpr auto call(auto& ops, auto x) const {
#ifdef STAGECRAFT_BAD
    return ops.cast(x, sc::dtype::float16);
#else
    return ops.cast(x, sc::dtype::float32);
#endif
  }
};

using net = sc::sequential<input{4}.of_type(sc::dtype::int32), narrow{}>;  // <- here
static_assert(sc::call_count<net> >= 2);
