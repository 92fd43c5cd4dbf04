// SPDX-License-Identifier: BSD-3-Clause
// Training steps of one's own: a GAN with gradient penalty, also with layer normalizations in its critic, which
// pytorch_wgan.py holds beside PyTorch's; the perceptron by a step that is what `fit` does, and by one that `fit` does
// not carry out since its metric has another name, each beside its trainer; and the latter with batch normalizations.
#include <benchmark/benchmark.h>

#include <stagecraft/steps.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "machine_benchmark.hpp"

namespace {

using namespace stagecraft::benchmarks;
using namespace stagecraft::layers;
namespace sc = stagecraft;

inline constexpr int batch = 64, features = 64, units = 256, critic_steps = 5;

using plain_critic = sc::sequential<input{features}, dense{units, sc::tanh}, dense{units, sc::tanh}, dense{1}>;
using normalized_critic = sc::sequential<input{features}, dense{units}, layer_normalization{}, activation{sc::tanh},
                                         dense{units}, layer_normalization{}, activation{sc::tanh}, dense{1}>;
template <class Critic>
struct wgan_step : sc::training_step<wgan_step<Critic>, input{features}> {
  sc::trained<sc::sequential<input{features}, dense{units, sc::relu}, dense{units, sc::relu}, dense{features}>,
              "generator">
      generator;
  sc::trained<Critic, "critic"> critic;
  static constexpr auto optimizer = sc::optimizers::adam{.learning_rate = 1e-4F, .beta_1 = 0.5F};

  constexpr void train(auto& step, auto real) const {
    step.repeat(critic_steps, [&] {
      auto const fake = step.stop_gradient(generator(step.normal({step.batch(), features})));
      auto const mix = step.uniform({step.batch(), 1}), mixed = real * mix + fake * (1 - mix);
      auto const slope = step.gradient(critic(mixed), mixed);
      auto const norm = sqrt(step.sum(square(slope), -1) + 1e-12F);
      auto const loss = step.mean(critic(fake) - critic(real)) + 10 * step.mean(square(norm - 1));
      step.minimize(optimizer, loss, weights_of(critic));
      step.metric("critic_loss", loss);
    });
    auto const loss = -step.mean(critic(generator(step.normal({step.batch(), features}))));
    step.minimize(optimizer, loss, weights_of(generator));
    step.metric("generator_loss", loss);
  }
};

using mlp = sc::sequential<input{784}, dense{256, sc::relu}, dense{128, sc::relu}, dense{10}>;
using normalized_mlp = sc::sequential<input{784}, dense{256}, batch_normalization{}, activation{sc::relu}, dense{128},
                                      batch_normalization{}, activation{sc::relu}, dense{10}>;
template <class Model, bool IsFit>
struct mlp_step : sc::training_step<mlp_step<Model, IsFit>, input{784}, input{1}> {
  sc::trained<Model, "mlp"> model;
  static constexpr auto optimizer = sc::optimizers::adam{};
  static constexpr auto loss_of_labels = sc::losses::sparse_categorical_crossentropy{.from_logits = true};

  constexpr void train(auto& step, auto x, auto y) const {
    auto const loss = step.loss(loss_of_labels, y, model(x));
    step.minimize(optimizer, loss, weights_of(model));
    step.metric(IsFit ? "loss" : "crossentropy", loss);
  }
};
inline constexpr auto training =
    sc::training{.optimizer = sc::optimizers::adam{}, .loss = mlp_step<mlp, true>::loss_of_labels, .batch_size = batch};

/// Numbers from 0 to 1 that look random.
xt::xtensor<float, 2> numbers(std::size_t rows, std::size_t columns) {
  xt::xtensor<float, 2> result = xt::zeros<float>({rows, columns});
  std::uint32_t state = 1;
  for (float& each : result) each = static_cast<float>((state = state * 1664525U + 1013904223U) >> 8U) / 16777216.0F;
  return result;
}

/// `Trainer::train_on_batch` on arrays that are made once.
template <class Trainer, class... Arrays>
void add_step(std::string const& name, Arrays const&... arrays) {
  benchmark::RegisterBenchmark(name.c_str(), [arrays...](benchmark::State& state) {
    static Trainer model;
    sc::sample_set const samples = sc::inputs(arrays...);
    sc::sample_set x, y;
    for (int i = 0; i < samples.size(); ++i) (i == 0 ? x : y).add(samples[i]);
    for (auto _ : state)
      if constexpr (sizeof...(arrays) == 1)
        benchmark::DoNotOptimize(model.train_on_batch(x));
      else
        benchmark::DoNotOptimize(model.train_on_batch(x, y));
    state.counters["samples/s"] = benchmark::Counter(batch, benchmark::Counter::kIsIterationInvariantRate);
  });
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  add_fma_peak();
  if (threads_of_this_run() == 1) {
    add_step<sc::step_trainer<wgan_step<plain_critic>, sc::step_options{.batch_size = batch}>>(
        "steps/wgan_gp/threads:1/stagecraft", numbers(batch, features));
    add_step<sc::step_trainer<wgan_step<normalized_critic>, sc::step_options{.batch_size = batch}>>(
        "steps/wgan_gp_normalized/threads:1/stagecraft", numbers(batch, features));
    auto const x = numbers(batch, 784);
    xt::xtensor<float, 2> y = numbers(batch, 1);
    for (float& each : y) each = static_cast<float>(static_cast<int>(each * 10));
    constexpr auto options = sc::step_options{.batch_size = batch};
    add_step<sc::step_trainer<mlp_step<mlp, true>, options>>("steps/as_fit/threads:1/stagecraft", x, y);
    add_step<sc::trainer<mlp, training>>("steps/as_fit/threads:1/trainer", x, y);
    add_step<sc::step_trainer<mlp_step<mlp, false>, options>>("steps/own/threads:1/stagecraft", x, y);
    add_step<sc::trainer<mlp, training>>("steps/own/threads:1/trainer", x, y);
    add_step<sc::step_trainer<mlp_step<normalized_mlp, false>, options>>("steps/normalized/threads:1/stagecraft", x, y);
    add_step<sc::trainer<normalized_mlp, training>>("steps/normalized/threads:1/trainer", x, y);
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
