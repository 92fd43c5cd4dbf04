// SPDX-License-Identifier: BSD-3-Clause
// E1001: a layer or model is called with the wrong number of tensors.
//
// A layer such as `dense` takes one tensor; the merging layers (`add`, `concatenate`, ...) take two or more; a
// nested model takes as many as it has inputs. Call the layer once for each tensor, or merge the tensors first.
//
// expect-error: layer 'dense' takes 1 input, but is called with 2
// expect-error: [E1001]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
struct net : sc::functional<net> {
  static constexpr auto build(auto& model) {
    auto x = model.input(8);
    auto y = model.input(8);
    return dense(4)(x, y);
  }
};
#else
struct net : sc::functional<net> {
  static constexpr auto build(auto& model) {
    auto x = model.input(8);
    auto y = model.input(8);
    return dense(4)(concatenate{}(x, y));
  }
};
#endif

static_assert(sc::find_call<net>("dense") == 2 + (sc::call_count<net> == 4));
static_assert(!sc::is_pipelined<net>);
