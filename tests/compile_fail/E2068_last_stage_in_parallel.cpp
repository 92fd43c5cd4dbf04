// SPDX-License-Identifier: BSD-3-Clause
// E2068: the last stage, which computes the losses, is to work at the same time as another one.
// expect-error: pipeline stage 2 is in parallel with stage 1, the last one but for it
// expect-error: the last one computes the losses; the first and the last stage are alone
// expect-error: [E2068]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct two_heads : sc::functional<two_heads> {
  static constexpr auto build(auto& model) {
    auto const x = dense{8}(model.input(4));
    return sc::outputs(dense{2}(x), dense{3}(x));
  }
};

#ifdef STAGECRAFT_BAD
using staged = sc::pipelined<two_heads, sc::stages<0, 1, 2>, sc::device_mapping<0, sc::parallel<1, 2>>>;  // <- here
#else
using staged = sc::pipelined<two_heads, sc::stages<0, 1, 2>, sc::device_mapping<0, 1, 2>>;
#endif

static_assert(sc::pipeline_stages<staged> == 3);
