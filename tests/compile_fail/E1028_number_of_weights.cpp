// SPDX-License-Identifier: BSD-3-Clause
// E1028: a layer of the user's own has more weights than the library keeps for one layer.
// expect-error: layer 'mixture' has 33 weights; a layer has at most 32
// expect-error: [E1028]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
inline constexpr int experts = 33;
#else
inline constexpr int experts = 32;
#endif

struct mixture : sc::layer<mixture> {
  static constexpr std::string_view class_name = "Mixture";
  constexpr sc::shape output_shape(sc::layer_inputs const& in) const { return in[0]; }
  constexpr void parameters(sc::layer_inputs const& in, sc::parameter_list& weights) const {
    for (int i = 0; i < experts; ++i) weights.add({.name = "kernel", .shape = {in[0].back()}});
  }
};

using mlp = sc::sequential<input{16}, mixture{}>;  // <- here

static_assert(sc::call_count<mlp> == 2);
