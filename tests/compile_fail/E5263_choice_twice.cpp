// SPDX-License-Identifier: BSD-3-Clause
// E5263: a value stands twice in a list of choices.
// expect-error: plan_choices.ipus has a value twice
// expect-error: [E5263]
#include <stagecraft/description/training.hpp>
#include <stagecraft/layers/layers.hpp>
#include <stagecraft/machines/ipu_devices.hpp>
#include <stagecraft/models/sequential.hpp>
#include <stagecraft/report/plan_data_of.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

using mlp = sc::sequential<input{784}, dense{10}>;
inline constexpr auto training = sc::training{.loss = sc::losses::sparse_categorical_crossentropy{}};

#ifdef STAGECRAFT_BAD
inline constexpr sc::plan_choices choices{.ipus = {1, 1}};
#else
inline constexpr sc::plan_choices choices{.ipus = {1}};
#endif

auto const plans = sc::plan_data_of<mlp, training, sc::ipu_devices<>, choices>();  // <- here
