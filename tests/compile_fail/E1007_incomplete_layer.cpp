// SPDX-License-Identifier: BSD-3-Clause
// E1007: a layer of the user's own lacks its class name, or does not say what it computes.
// expect-error: layer type 'scale' does not say what it computes
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
  constexpr auto call(auto&, auto x) const { return x * 0.5F; }
};
#endif

using mlp = sc::sequential<input{16}, scale{}, dense{4}>;
static_assert(sc::call_count<mlp> == 3);
