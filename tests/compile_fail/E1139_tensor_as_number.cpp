// SPDX-License-Identifier: BSD-3-Clause
// E1139: a loss of one's own calls a function of numbers.
// expect-error: a tensor of a call(...) is used as a number, which it is not yet: in place of std::exp(x) and its like write exp(x)
// expect-error: [E1139]
// text-line: 5 (GCC: the text is in the error at the user's line, after the way from the training to its loss)
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>
#include <cmath>

namespace sc = stagecraft;
using namespace sc::layers;

struct exponential : sc::loss<exponential> {
  constexpr auto call(auto& ops, auto target, auto output) const {
#ifdef STAGECRAFT_BAD
    return ops.mean(std::exp(output - target), -1);  // <- here
#else
    return ops.mean(exp(output - target) * 2 + 1.0, -1);
#endif
  }
};

using line = sc::sequential<input{3}, dense{1}>;
inline constexpr auto training = sc::training{.loss = exponential{}};
static_assert(sizeof(sc::trainer<line, training>) > 0);
