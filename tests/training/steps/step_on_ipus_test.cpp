// SPDX-License-Identifier: BSD-3-Clause
// Training steps of one's own on emulated IPUs: the host's bits, and tiles that are checked.
#include <stagecraft/ipu.hpp>
#include <stagecraft/steps.hpp>
#include <stagecraft/training/steps/step_profile.hpp>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <doctest/doctest.h>

namespace sc = stagecraft;
using namespace sc::layers;

namespace {

struct gan_step : sc::training_step<gan_step, input{6}> {
  sc::trained<sc::sequential<input{3}, dense{6}>, "generator"> generator;
  sc::trained<sc::sequential<input{6}, dense{4, sc::tanh}, dense{1}>, "critic"> critic;
  static constexpr auto optimizer = sc::optimizers::adam{.learning_rate = 0.01F};

  constexpr void train(auto& step, auto real) const {
    step.repeat(2, [&] {
      auto const loss = step.mean(critic(generator(step.normal({step.batch(), 3})))) - step.mean(critic(real));
      step.minimize(optimizer, loss, weights_of(critic));
      step.metric("critic_loss", loss);
    });
    auto const loss = -step.mean(critic(generator(step.normal({step.batch(), 3}))));
    step.minimize(optimizer, loss, weights_of(generator));
    step.metric("generator_loss", loss);
  }
};
inline constexpr auto options = sc::step_options{.batch_size = 4, .num_replicas = 2};
using machine = sc::ipu<sc::ipu_config{.auto_select_ipus = 2}>;
using checked = sc::ipu<sc::ipu_config{.auto_select_ipus = 2, .ipu_model = {.tiles_per_ipu = 4, .checked = true}}>;

// The profile names each sub-step, and has its cycles as often as it is carried out.
inline constexpr auto profile = sc::step_profile<gan_step, options, machine>;
static_assert(profile.sub_steps() == 2 && profile.replicas() == 2 && profile.fits());
static_assert(profile.name_of(0) == "critic" && profile.name_of(1) == "generator");
static_assert(profile.times(0) == 2 && profile.times(1) == 1);
static_assert(profile.cycles() == 2 * profile.sub_step<0>.cycles() + profile.sub_step<1>.cycles());
static_assert(profile.sub_step<0>.cycles() > 0 && profile.sub_step<1>.cycles() > 0);
static_assert(profile.memory().optimizer_state ==
              profile.sub_step<0>.memory(0).optimizer_state + profile.sub_step<1>.memory(0).optimizer_state);
static_assert(profile.memory().peak() > profile.sub_step<0>.memory(0).peak() &&
              profile.memory().weights ==
                  std::max(profile.sub_step<0>.memory(0).weights, profile.sub_step<1>.memory(0).weights));

xt::xtensor<float, 2> numbers(std::size_t rows, std::size_t columns, float number = 0.1F) {
  xt::xtensor<float, 2> result = xt::zeros<float>({rows, columns});
  for (float& x : result) x = number = number * 3.7F * (1 - number);
  return result;
}

}  // namespace

TEST_CASE("two models on two IPUs have the host's bits, and nearly those on checked tiles") {
  auto const x = numbers(16, 6);
  sc::step_trainer<gan_step, options, sc::host<1>> host;
  sc::step_trainer<gan_step, options, machine> ipus;
  sc::step_trainer<gan_step, options, checked> tiles;
  auto const before = host.get_weights();
  auto const history = host.fit(x, {.epochs = 2, .verbose = 0});
  CHECK(ipus.fit(x, {.epochs = 2, .verbose = 0}).at("critic_loss") == history.at("critic_loss"));
  CHECK(ipus.get_weights() == host.get_weights());
  CHECK_FALSE(host.get_weights() == before);
  auto const on_tiles = tiles.fit(x, {.epochs = 2, .verbose = 0});
  CHECK(on_tiles.at("critic_loss")[1] == doctest::Approx(history.at("critic_loss")[1]).epsilon(1e-5));
  auto const weights = tiles.get_weights(), expected = host.get_weights();
  for (std::size_t i = 0; i < weights.size(); ++i)
    for (std::size_t k = 0; k < weights[i].values.size(); ++k)
      CHECK(std::abs(weights[i].values[k] - expected[i].values[k]) < 1e-5F);

  // Two epochs of two steps, each with two sub-steps of the critic, and one of the generator.
  CHECK(ipus.session<0>().counted(0).training[0].runs == 8);
  CHECK(ipus.session<1>().counted(1).training[0].runs == 4);
}
