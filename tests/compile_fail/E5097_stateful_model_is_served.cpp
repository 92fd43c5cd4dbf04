// SPDX-License-Identifier: BSD-3-Clause
// E5097: a model whose layers keep their states between batches is served to several callers.
// expect-error: the model is stateful, and calls share its batches
// expect-error: [E5097]
#include <stagecraft/serving/application.hpp>
#include <stagecraft/stagecraft.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

#ifdef STAGECRAFT_BAD
constexpr bool stateful = true;
#else
constexpr bool stateful = false;
#endif

using reader = sc::sequential<input{4, 2}.of_batch_size(1), lstm{3, {.stateful = stateful}}, dense{2}>;
inline constexpr auto inference = sc::inference{.batch_size = 1};

stagecraft_application const* get_application() {
  return sc::serving::application<reader, inference>::table();  // <- here
}
