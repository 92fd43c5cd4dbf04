// SPDX-License-Identifier: BSD-3-Clause
// E1161: an einsum with a letter twice for one tensor.
// expect-error: layer 'trace_of' computes einsum("bii->b") of 1 tensors; write letters for one or two tensors and the result,
// expect-error: each at most once for a tensor: "bij,bjk->bik"
// expect-error: [E1161]
#include <stagecraft/operations/words.hpp>
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct trace_of : sc::layer<trace_of> {
  static constexpr std::string_view class_name = "TraceOf";
  constexpr auto call(auto& ops, auto x) const {
#ifdef STAGECRAFT_BAD
    return ops.einsum("bii->b", {x});
#else
    return ops.einsum("bij->bi", {x});
#endif
  }
};

using net = sc::sequential<input{8, 8}, trace_of{}>;  // <- here
static_assert(sc::call_count<net> == 2);
