// SPDX-License-Identifier: BSD-3-Clause
// E1131: a loss of sequences takes more labels than the output has steps.
// expect-error: loss 'ctc' has max_label_length 32, but output 'dense' has 20 steps
// expect-error: [E1131]
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using letters = sc::sequential<input{20, 8}, dense{27}>;

#ifdef STAGECRAFT_BAD
inline constexpr int most = 32;
#else
inline constexpr int most = 10;
#endif

inline constexpr auto training = sc::training{.loss = sc::losses::ctc{.max_label_length = most}};
using trainer = sc::trainer<letters, training>;  // <- here
static_assert(sizeof(trainer) > 0);
