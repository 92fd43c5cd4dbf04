// SPDX-License-Identifier: BSD-3-Clause
// E4033: the host is asked for more threads than it runs.
// expect-error: host<4> asks for 4 threads; a step runs on one, host<>
// expect-error: [E4033]
#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
using machine = sc::host<4>;
#else
using machine = sc::host<>;
#endif

inline constexpr auto training = sc::training{.batch_size = 4};
using mlp = sc::sequential<input{8}, dense{2}>;
sc::trainer<mlp, training, machine> model;  // <- here
