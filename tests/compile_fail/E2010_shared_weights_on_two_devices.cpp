// SPDX-License-Identifier: BSD-3-Clause
// E2010: calls that share weights are on different devices.
// expect-error: layer 'dense' is called in pipeline stages 0 and 2, which are on devices 0 and 2
// expect-error: [E2010]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct net : sc::functional<net> {
  static constexpr auto build(auto& model) {
    dense shared(16);
    auto x = shared(model.input(16));
    x = dense(16)(x);
    return shared(x);
  }
};

#ifdef STAGECRAFT_BAD
using staged = sc::pipelined<net, sc::stages<0, 1, 2>>;  // <- here
#else
using staged = sc::pipelined<net, sc::stages<0, 1, 2>, sc::device_mapping<0, 1, 0>>;
#endif

static_assert(sc::pipeline_stages<staged> == 3);
static_assert(sc::device_of<staged, 2> == 0);
