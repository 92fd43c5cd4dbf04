// SPDX-License-Identifier: BSD-3-Clause
// E3011: a profile is asked for a machine that is no IPU.
// expect-error: a profile is asked for a machine that does not emulate IPUs; name one such as ipu<>
// expect-error: [E3011]
#include <stagecraft/description/training.hpp>
#include <stagecraft/host/host.hpp>
#include <stagecraft/ipu/profile/profile.hpp>
#include <stagecraft/layers/layers.hpp>
#include <stagecraft/machines/ipu_devices.hpp>
#include <stagecraft/models/sequential.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{28, 28}, flatten{}, dense{128, sc::relu}, dense{10}>;
inline constexpr auto training = sc::training{.loss = sc::losses::sparse_categorical_crossentropy{}};

#ifdef STAGECRAFT_BAD
using machine = sc::host<>;
#else
using machine = sc::ipu_devices<>;
#endif

static_assert(sc::profile<mlp, training, machine>.fits());  // <- here
