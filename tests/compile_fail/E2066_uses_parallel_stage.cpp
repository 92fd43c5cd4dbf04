// SPDX-License-Identifier: BSD-3-Clause
// E2066: a layer uses the output of a stage that works at the same time.
// expect-error: layer 'dense_2' in pipeline stage 2 uses the output of layer 'dense_1' in stage 1
// expect-error: but the device mapping has both stages in parallel; they work at the same time
// expect-error: [E2066]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct branches : sc::functional<branches> {
  static constexpr auto build(auto& model) {
    auto const x = dense{8}(model.input(4));
    auto const left = dense{8}(x);
#ifdef STAGECRAFT_BAD
    auto const right = dense{8}(left);
#else
    auto const right = dense{8}(x);
#endif
    return dense{2}(add{}(left, right));
  }
};

using staged =
    sc::pipelined<branches, sc::stages<0, 1, 2, 3, 3>, sc::device_mapping<0, sc::parallel<1, 2>, 3>>;  // <- here
static_assert(sc::pipeline_stages<staged> == 4);
