// SPDX-License-Identifier: BSD-3-Clause
// E1126: more lengths than a tensor inside a call may have.
// expect-error: the lengths of a tensor are at most 8, but 9 are given
// expect-error: [E1126]
// user-line: 34 (Clang: the call is traced while its model is checked)
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

constexpr lambda shifted{[](auto& ops, auto x) {
#ifdef STAGECRAFT_BAD
  return x + ops.full({1, 1, 1, 1, 1, 1, 1, 1, 2}, 1.0F);
#else
  return x + ops.full({1, 1, 2}, 1.0F);
#endif
}};
using net = sc::sequential<input{4, 2}, shifted>;  // <- here
static_assert(sc::call_count<net> == 2);
