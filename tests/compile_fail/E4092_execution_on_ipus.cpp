// SPDX-License-Identifier: BSD-3-Clause
// E4092: a model is trained on emulated IPUs, and only their description is included.
// expect-error: a model is trained on emulated IPUs, but how they carry out its steps is not included
// expect-error: #include <stagecraft/ipu.hpp>
// expect-error: [E4092]
#ifdef STAGECRAFT_BAD
#include <stagecraft/stagecraft.hpp>
#else
#include <stagecraft/ipu.hpp>
#endif

namespace sc = stagecraft;
using namespace sc::layers;

inline constexpr auto training = sc::training{.batch_size = 4};
using mlp = sc::sequential<input{8}, dense{2}>;
using machine = sc::ipu<sc::ipu_config{.auto_select_ipus = 1}>;
extern sc::trainer<mlp, training, machine> model;  // <- here
