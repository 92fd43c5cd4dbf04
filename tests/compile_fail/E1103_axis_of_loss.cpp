// SPDX-License-Identifier: BSD-3-Clause
// E1103: a loss has an axis that the output does not have.
// expect-error: loss 'cosine_similarity' has axis 3, which output 'dense' of shape (5, 3) does not have
// expect-error: [E1103]
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using vectors = sc::sequential<input{5, 4}, dense{3}>;

#ifdef STAGECRAFT_BAD
inline constexpr int axis = 3;
#else
inline constexpr int axis = 1;
#endif

inline constexpr auto training = sc::training{.loss = sc::losses::cosine_similarity{.axis = axis}};
using trainer = sc::trainer<vectors, training>;  // <- here
static_assert(sizeof(trainer) > 0);
