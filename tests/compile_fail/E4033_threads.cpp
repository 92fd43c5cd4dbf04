// SPDX-License-Identifier: BSD-3-Clause
// E4033: the host is asked for a number of threads that makes no sense.
// expect-error: host<0> asks for 0 threads; it takes 1 to 1024
// expect-error: [E4033]
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using machine = sc::host<0>;  // <- here
#else
using machine = sc::host<2>;
#endif

inline constexpr auto training = sc::training{.batch_size = 4};
using mlp = sc::sequential<input{8}, dense{2}>;
sc::trainer<mlp, training, machine> model;
