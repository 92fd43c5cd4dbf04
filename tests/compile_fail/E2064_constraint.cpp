// SPDX-License-Identifier: BSD-3-Clause
// E2064: a constraint that emulated IPUs cannot carry out.
// expect-error: constraint 'mirrored' of weight 'kernel' has operations that emulated IPUs do not have for weights
// expect-error: [E2064]
#include <stagecraft/ipu.hpp>
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct mirrored : sc::own_constraint<mirrored> {
  static constexpr std::string_view name = "mirrored";
  constexpr auto call(auto& ops, auto weight) const { return (weight + ops.flip(weight, 0)) * 0.5F; }
};

using line = sc::sequential<input{3}, dense{4, {.kernel_constraint = mirrored{}}}>;
inline constexpr auto training = sc::training{.loss = sc::losses::mean_squared_error{}, .batch_size = 8};

#ifdef STAGECRAFT_BAD
using trainer = sc::trainer<line, training, sc::ipu<>>;  // <- here
#else
using trainer = sc::trainer<line, training>;
#endif
static_assert(sizeof(trainer) > 0);
