// SPDX-License-Identifier: BSD-3-Clause
// E1189: a gradient by whole numbers.
// expect-error: layer 'slope' asks for the gradient of a tensor of type float32 by one of type int32
// expect-error: [E1189]
#include <stagecraft/operations/words.hpp>
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct slope : sc::layer<slope> {
  static constexpr std::string_view class_name = "Slope";
  constexpr auto call(auto& ops, auto x) const {
#ifdef STAGECRAFT_BAD
    return ops.gradient(square(ops.cast(x, sc::dtype::float32)), x);
#else
    auto const y = ops.cast(x, sc::dtype::float32);
    return ops.gradient(square(y), y);
#endif
  }
};

using net = sc::sequential<input{4}.of_type(sc::dtype::int32), slope{}>;  // <- here
static_assert(sc::call_count<net> >= 2);
