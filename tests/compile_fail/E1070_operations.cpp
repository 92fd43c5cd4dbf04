// SPDX-License-Identifier: BSD-3-Clause
// E1070: the tensors of a layer's `call` do not fit its operations.
// expect-error: layer 'project': a tensor of shape (2, 16) cannot be multiplied by (8, 4); a layer is checked with 2 samples
// expect-error: [E1070]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct project : sc::layer<project> {
  static constexpr std::string_view class_name = "Project";
  constexpr auto call(auto& ops, auto x) const {
#ifdef STAGECRAFT_BAD
    return ops.matmul(x, ops.weight({.name = "kernel", .shape = {8, 4}}));
#else
    return ops.matmul(x, ops.weight({.name = "kernel", .shape = {16, 4}}));
#endif
  }
};

using mlp = sc::sequential<input{16}, project{}, dense{4}>;  // <- here
static_assert(sc::call_count<mlp> == 3);
