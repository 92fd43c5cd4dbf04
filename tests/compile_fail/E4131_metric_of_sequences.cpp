// SPDX-License-Identifier: BSD-3-Clause
// E4131: a metric of an output whose loss takes labels without places.
// expect-error: metric 'accuracy' is of output 'dense', whose loss 'ctc' takes labels that have no places on its steps
// expect-error: [E4131]
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using letters = sc::sequential<input{20, 8}, dense{27}>;

#ifdef STAGECRAFT_BAD
inline constexpr auto training = sc::training{.loss = sc::losses::ctc{}, .metrics = sc::metrics::accuracy{}};
#else
inline constexpr auto training = sc::training{.loss = sc::losses::ctc{}};
#endif

using trainer = sc::trainer<letters, training>;  // <- here
static_assert(sizeof(trainer) > 0);
