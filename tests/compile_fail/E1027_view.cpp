// SPDX-License-Identifier: BSD-3-Clause
// E1027: a layer of the user's own says that its output is its input's memory, but it is not.
// expect-error: layer 'first_half' says that it is a view, but a view takes one tensor, keeps its number of elements
// expect-error: [E1027]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct first_half : sc::layer<first_half> {
  static constexpr std::string_view class_name = "FirstHalf";
#ifdef STAGECRAFT_BAD
  static constexpr bool is_view = true;
#endif
  constexpr sc::shape output_shape(sc::layer_inputs const& in) const { return {in[0].size() / 2}; }
};

using mlp = sc::sequential<input{16}, dense{8}, first_half{}>;  // <- here

static_assert(sc::call_count<mlp> == 3);
