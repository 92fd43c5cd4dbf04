// SPDX-License-Identifier: BSD-3-Clause
// E1070: a regularizer of one's own that gives more than one number.
// expect-error: regularizer 'norms': it gives a tensor of shape (1, 4) for a weight of shape (3, 4); a penalty is one
// expect-error: [E1070]
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct norms : sc::own_regularizer<norms> {
  static constexpr std::string_view name = "norms";
  constexpr auto call(auto& ops, auto weight) const {
    auto const norm = sqrt(ops.sum(square(weight), 0));
#ifdef STAGECRAFT_BAD
    return norm * 0.01F;
#else
    return ops.sum(norm, {0, 1}) * 0.01F;
#endif
  }
};

using line = sc::sequential<input{3}, dense{4, {.kernel_regularizer = norms{}}}>;
inline constexpr auto training = sc::training{.loss = sc::losses::mean_squared_error{}, .batch_size = 8};

using trainer = sc::trainer<line, training>;  // <- here
static_assert(sizeof(trainer) > 0);
