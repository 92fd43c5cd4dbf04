// SPDX-License-Identifier: BSD-3-Clause
// E4028: an output has two metrics of one name.
// expect-error: the training has two metrics 'mae' of output 'place'
// expect-error: [E4028]
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct two_heads : sc::functional<two_heads> {
  static constexpr auto build(auto& model) {
    auto x = model.input(16);
    return sc::outputs(dense{1, {.name = "age"}}(x), dense{4, {.name = "place"}}(x));
  }
};

#ifdef STAGECRAFT_BAD
inline constexpr auto training =
    sc::training{.metrics = sc::metrics::per_output(sc::metrics::mae{}, {sc::metrics::mae{}, sc::metrics::mae{}})};
#else
inline constexpr auto training =
    sc::training{.metrics = sc::metrics::per_output(
                     sc::metrics::mae{}, {sc::metrics::mae{}, sc::metrics::named<"again">(sc::metrics::mae{})})};
#endif

using trainer = sc::trainer<two_heads, training>;  // <- here
static_assert(sizeof(trainer) > 0);
