// SPDX-License-Identifier: BSD-3-Clause
// E1001: a layer or model is called with the wrong number of tensors.
// expect-error: layer 'dense' takes 1 input, but is called with 2
// expect-error: [E1001] (E1001_number_of_inputs.cpp:15)
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

static_assert(sc::find_call<net>("dense") == 3);
static_assert(!sc::is_pipelined<net>);
