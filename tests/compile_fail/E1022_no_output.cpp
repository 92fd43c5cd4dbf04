// SPDX-License-Identifier: BSD-3-Clause
// E1022: the function of a model returns no tensor.
// expect-error: `build` of model 'net' returns a value of type 'dense', which is not a tensor
// expect-error: [E1022]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
struct net : sc::functional<net> {
  static constexpr auto build(auto& model) {
    [[maybe_unused]] auto x = flatten()(model.input(28, 28));
    return dense(10);
  }
};
#else
struct net : sc::functional<net> {
  static constexpr auto build(auto& model) {
    auto x = flatten()(model.input(28, 28));
    return dense(10)(x);
  }
};
#endif

static_assert(sc::call_count<net> >= 1);
