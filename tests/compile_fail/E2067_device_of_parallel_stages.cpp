// SPDX-License-Identifier: BSD-3-Clause
// E2067: stages that are to work at the same time are on one device.
// expect-error: pipeline stages 1 and 2 are in parallel, but both on device 1
// expect-error: each of them has a device of its own
// expect-error: [E2067]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct branches : sc::functional<branches> {
  static constexpr auto build(auto& model) {
    auto const x = dense{8}(model.input(4));
    return dense{2}(add{}(dense{8}(x), dense{8}(x)));
  }
};

#ifdef STAGECRAFT_BAD
using devices = sc::device_list<0, sc::parallel<1, 1>, 0>;
#else
using devices = sc::device_list<0, sc::parallel<1, 2>, 0>;
#endif

using staged = sc::pipelined<branches, sc::stages<0, 1, 2, 3, 3>, devices{}>;  // <- here
static_assert(sc::pipeline_stages<staged> == 4);
