// SPDX-License-Identifier: BSD-3-Clause
// E2004: a layer uses the output of a later stage.
// expect-error: layer 'add' in pipeline stage 1 uses the output of layer 'dense_1' in stage 2
// expect-error: a layer can only use outputs of its own or previous stages
// expect-error: [E2004]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct net : sc::functional<net> {
  static constexpr auto build(auto& model) {
    auto x = model.input(16);
    auto a = dense(16)(x);
    auto b = dense(16)(a);
    return add{}(a, b);
  }
};

#ifdef STAGECRAFT_BAD
using staged = sc::pipelined<net, sc::stages<0, 2, 1>>;  // <- here
#else
using staged = sc::pipelined<net, sc::stages<0, 1, 2>>;
#endif

static_assert(sc::pipeline_stages<staged> == 3);
