// SPDX-License-Identifier: BSD-3-Clause
// E1070: a constraint of one's own that gives something else than a weight of the same shape.
// expect-error: constraint 'norms': it gives a tensor of shape (1, 4) for a weight of shape (3, 4)
// expect-error: [E1070]
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct norms : sc::own_constraint<norms> {
  static constexpr std::string_view name = "norms";
  constexpr auto call(auto& ops, auto weight) const {
    auto const norm = sqrt(ops.sum(square(weight), 0));
#ifdef STAGECRAFT_BAD
    return norm;
#else
    return weight / (norm + 1e-7F);
#endif
  }
};

using line = sc::sequential<input{3}, dense{4, {.kernel_constraint = norms{}}}>;
inline constexpr auto training = sc::training{.loss = sc::losses::mean_squared_error{}, .batch_size = 8};

using trainer = sc::trainer<line, training>;  // <- here
static_assert(sizeof(trainer) > 0);
