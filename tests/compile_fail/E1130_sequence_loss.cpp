// SPDX-License-Identifier: BSD-3-Clause
// E1130: the loss of sequences of labels is that of an output without steps.
// expect-error: loss 'ctc' takes an output of shape (steps, classes), of two classes or more, but output 'dense' has shape
// expect-error: [E1130]
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using letters = sc::sequential<input{8}, dense{27}>;
#else
using letters = sc::sequential<input{20, 8}, dense{27}>;
#endif

inline constexpr auto training = sc::training{.loss = sc::losses::ctc{}};
using trainer = sc::trainer<letters, training>;  // <- here
static_assert(sizeof(trainer) > 0);
