// SPDX-License-Identifier: BSD-3-Clause
// A training step of one's own allocates nothing after its first batch.
#include <stagecraft/steps.hpp>
#include <cstddef>
#include <doctest/doctest.h>

#include "counted_memory.hpp"

namespace sc = stagecraft;
using namespace sc::layers;

namespace {

struct own_step : sc::training_step<own_step, input{3}> {
  sc::trained<sc::sequential<input{3}, dense{4, sc::tanh}, dense{1}>, "critic"> critic;
  static constexpr auto optimizer = sc::optimizers::adam{};

  constexpr void train(auto& step, auto x) const {
    step.repeat(2, [&] {
      auto const mixed = x + step.normal({step.batch(), 3});
      auto const slope = step.gradient(critic(mixed), mixed), loss = step.mean(square(slope) - critic(x));
      step.minimize(optimizer, loss, weights_of(critic));
      step.metric("loss", loss);
    });
  }
};

}  // namespace

TEST_CASE("a step with a gradient in its loss") {
  sc::step_trainer<own_step, sc::step_options{.batch_size = 8}> model;
  xt::xtensor<float, 2> x = xt::zeros<float>({8, 3});
  x += 0.25F;
  sc::sample_set const samples(x);
  auto const first = model.train_on_batch(samples);
  long const before = allocations();
  double loss = 0;
  for (int i = 0; i < 10; ++i) loss = model.train_on_batch(samples)[0];
  CHECK(allocations() == before);
  CHECK(loss != first[0]);
}
