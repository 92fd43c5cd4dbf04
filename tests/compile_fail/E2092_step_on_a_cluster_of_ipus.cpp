// SPDX-License-Identifier: BSD-3-Clause
// E2092: a training step of one's own on a cluster of emulated IPUs.
// expect-error: a training step of one's own is given a cluster; it runs in one process: sc::host<4>
// expect-error: [E2092]
#include <stagecraft/ipu.hpp>
#include <stagecraft/mpi/cluster.hpp>
#include <stagecraft/steps.hpp>

namespace sc = stagecraft;
using namespace sc::layers;

struct own_step : sc::training_step<own_step, input{4}, input{1}> {
  sc::trained<sc::sequential<input{4}, dense{1}>> line;
  static constexpr auto optimizer = sc::optimizers::sgd{};
  constexpr void train(auto& step, auto x, auto y) const {
    step.minimize(optimizer, step.mean(square(line(x) - y)), weights_of(line));
  }
};

using one_process = sc::ipu<sc::ipu_config{.auto_select_ipus = 1}>;
#ifdef STAGECRAFT_BAD
using machine = sc::cluster<one_process, sc::ranks{4}>;
#else
using machine = one_process;
#endif
using trainer = sc::step_trainer<own_step, sc::step_options{}, machine>;  // <- here
static_assert(sizeof(trainer) > 0);
