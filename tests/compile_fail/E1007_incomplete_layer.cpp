// SPDX-License-Identifier: BSD-3-Clause
// E1007: a layer of the user's own lacks its class name or its output shape.
// expect-error: layer type 'scale' does not say the shape of its output
// expect-error: [E1007]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
struct scale : sc::layer<scale> {
  static constexpr std::string_view class_name = "Scale";
};
#else
struct scale : sc::layer<scale> {
  static constexpr std::string_view class_name = "Scale";
  constexpr sc::shape output_shape(sc::layer_inputs const& in) const { return in[0]; }
};
#endif

using mlp = sc::sequential<input{16}, scale{}, dense{4}>;
static_assert(sc::call_count<mlp> == 3);
