// SPDX-License-Identifier: BSD-3-Clause
// E1070: a metric of one's own that gives something else than a number for a row, or for each output.
// expect-error: metric 'pairs': it gives a tensor of shape (1, 3) for outputs of shape (1, 4)
// expect-error: [E1070]
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct pairs : sc::own_metric<pairs> {
  static constexpr std::string_view name = "pairs";
  constexpr auto call(auto& ops, auto target, auto output) const {
    auto const error = output - target;
#ifdef STAGECRAFT_BAD
    return ops.slice(error, -1, 1, 3) - ops.slice(error, -1, 0, 3);
#else
    return ops.sum(ops.slice(error, -1, 1, 3) - ops.slice(error, -1, 0, 3), -1);
#endif
  }
};

using line = sc::sequential<input{3}, dense{4}>;
inline constexpr auto training =
    sc::training{.loss = sc::losses::mean_squared_error{}, .metrics = pairs{}, .batch_size = 8};

using trainer = sc::trainer<line, training>;  // <- here
static_assert(sizeof(trainer) > 0);
