// SPDX-License-Identifier: BSD-3-Clause
// E2110: each sub-step fits into an IPU, both together do not.
// expect-error: the 2 sub-steps of a training step, on one IPU: tile 0 needs
// expect-error: [E2110]
#include <stagecraft/ipu.hpp>
#include <stagecraft/steps.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct own_step : sc::training_step<own_step, input{4}> {
  sc::trained<sc::sequential<input{4}, dense{64}, dense{1}>, "a"> a;
  sc::trained<sc::sequential<input{4}, dense{64}, dense{1}>, "b"> b;
  static constexpr auto optimizer = sc::optimizers::adam{};
  constexpr void train(auto& step, auto x) const {
    step.minimize(optimizer, step.mean(square(a(x))), weights_of(a));
    step.minimize(optimizer, step.mean(square(b(x))), weights_of(b));
  }
};

inline constexpr sc::ipu_target small = [] {
  sc::ipu_target target = sc::ipu_targets::ipu2;
#ifdef STAGECRAFT_BAD
  target.bytes_per_tile = 40'000;
#endif
  return target;
}();
using machine = sc::ipu<sc::ipu_config{.ipu_model = {.version = small, .tiles_per_ipu = 2}}>;
using trainer = sc::step_trainer<own_step, sc::step_options{.batch_size = 4}, machine>;  // <- here
static_assert(sizeof(trainer) > 0);
