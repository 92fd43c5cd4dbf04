// SPDX-License-Identifier: BSD-3-Clause
// E1100: a function of a whole weight as a penalty on outputs.
// expect-error: layer 'dense' has an activity_regularizer of your own, but one of the library's is expected
// expect-error: [E1100]
#include <stagecraft/pipeline.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct spread : sc::own_regularizer<spread> {
  float factor = 0.01F;
  constexpr auto call(auto& ops, auto weight) const { return ops.sum(square(weight), {0, 1}) * factor; }
};

#ifdef STAGECRAFT_BAD
using net = sc::sequential<input{4}, dense{8, sc::relu, {.activity_regularizer = spread{}}}, dense{2}>;  // <- here
#else
using net =
    sc::sequential<input{4}, dense{8, sc::relu, {.activity_regularizer = sc::regularizers::l2{0.01F}}}, dense{2}>;
#endif

static_assert(sc::call_count<net> > 2);
