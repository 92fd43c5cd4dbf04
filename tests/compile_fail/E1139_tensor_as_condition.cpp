// SPDX-License-Identifier: BSD-3-Clause
// E1139: a layer of one's own asks for the sign of a tensor.
// expect-error: in place of `?:`, `if` and std::max write where(condition, a, b) and maximum(a, b)
// expect-error: [E1139]
#include <stagecraft/pipeline.hpp>
#include <string_view>

namespace sc = stagecraft;
using namespace sc::layers;

struct leaky : sc::layer<leaky> {
  static constexpr std::string_view class_name = "Leaky";
  constexpr auto call(auto&, auto x) const {
#ifdef STAGECRAFT_BAD
    return x > 0 ? x : 0.1 * x;  // <- here
#else
    return where(x > 0, x, 0.1 * x);
#endif
  }
};

using line = sc::sequential<input{3}, leaky{}, dense{1}>;
static_assert(sc::call_count<line> == 3);
