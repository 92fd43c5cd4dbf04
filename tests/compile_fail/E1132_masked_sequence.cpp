// SPDX-License-Identifier: BSD-3-Clause
// E1132: the output of a loss of sequences has masked steps.
// expect-error: loss 'ctc' counts all steps of a sample, but output 'dense' has masked steps
// expect-error: [E1132]
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using letters = sc::sequential<input{20, 8}, masking{}, dense{27}>;
#else
using letters = sc::sequential<input{20, 8}, dense{27}>;
#endif

inline constexpr auto training = sc::training{.loss = sc::losses::ctc{}};
using trainer = sc::trainer<letters, training>;  // <- here
static_assert(sizeof(trainer) > 0);
