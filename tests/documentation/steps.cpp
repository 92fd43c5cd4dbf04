// SPDX-License-Identifier: BSD-3-Clause
// Snippets of docs/steps.md and docs/importing.md that no other test has: they compile as they stand there
// (tests/architecture/snippets.py compares them).
#include <stagecraft/description/layer_rates.hpp>
#include <stagecraft/models/fine_tuning.hpp>
#include <stagecraft/steps.hpp>
#include <stagecraft/training/shares.hpp>
#include <cstddef>
#include <string_view>

namespace sc = stagecraft;
using namespace sc::layers;  // NOLINT: as a program writes it

inline constexpr auto training = sc::training{.optimizer = sc::optimizers::adam{},
                                              .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                              .batch_size = 16};
inline constexpr auto drawing = sc::inference{.batch_size = 16};
using rows = xt::xtensor<float, 2>;

namespace gradients {

/// Penalizes slopes that are not 1, as WGAN-GP does.
struct critic : sc::layer<critic> {
  static constexpr std::string_view class_name = "Critic";
  int units = 64;

  constexpr auto call(auto& ops, auto x) const {
    auto const score = sc::layers::dense{1}.call(ops, sc::layers::dense{units, sc::gelu}.call(ops, x));
    auto const slope = ops.gradient(score, x);  // (batch, features)
    auto const norm = sqrt(ops.sum(square(slope), -1) + 1e-12F);
    ops.add_loss(square(norm - 1) * 10);
    return score;
  }
};

using model = sc::sequential<input{2}, critic{}>;

}  // namespace gradients

namespace steps {

using generator_model = sc::sequential<input{4}, dense{8, sc::relu}, dense{2}>;
using critic_model = sc::sequential<input{2}, dense{8, sc::gelu}, dense{1}>;

struct gan_step : sc::training_step<gan_step, input{2}> {  // inputs of `train`, without the batch
  sc::trained<generator_model, "generator"> generator;     // models, each with weights of its own
  sc::trained<critic_model, "critic"> critic;
  static constexpr auto critic_optimizer = sc::optimizers::adam{.learning_rate = 1e-3F, .beta_1 = 0.5F};
  static constexpr auto generator_optimizer = critic_optimizer;

  constexpr void train(auto& step, auto real) const {
    int const batch = step.batch();
    step.repeat(5, [&] {
      auto const fake = step.stop_gradient(generator(step.normal({batch, 4})));
      auto const mix = step.uniform({batch, 1}), mixed = real * mix + fake * (1 - mix);
      auto const slope = step.gradient(critic(mixed), mixed);
      auto const norm = sqrt(step.sum(square(slope), -1) + 1e-12F);
      auto const loss = step.mean(critic(fake) - critic(real)) + 10 * step.mean(square(norm - 1));
      step.minimize(critic_optimizer, loss, weights_of(critic));
      step.metric("critic_loss", loss);
    });
    auto const loss = -step.mean(critic(generator(step.normal({batch, 4}))));
    step.minimize(generator_optimizer, loss, weights_of(generator));
    step.metric("generator_loss", loss);
  }
};

void train(rows const& points, sc::predictor<generator_model, drawing>& generator) {
  sc::step_trainer<gan_step, sc::step_options{.batch_size = 64}> model;
  model.fit(points, {.epochs = 40});                        // a bar, callbacks, a history
  generator.set_weights(model.get_weights<"generator">());  // a predictor of that model
}

void on_threads() {
  sc::step_trainer<gan_step,
                   sc::step_options{.batch_size = 16,
                                    .num_replicas = 4,
                                    .cross_replica_reduction = sc::cross_replica_reduction::mean},
                   sc::host<4>>
      model;
}

using net = sc::sequential<input{4}, dense{8, sc::tanh}, dense{1}>;
struct follower_step : sc::training_step<follower_step, input{4}, input{1}> {
  sc::trained<net, "student"> student;
  sc::trained<net, "slow"> slow;
  sc::trained<net, "kept"> kept;
  static constexpr auto optimizer = sc::optimizers::adam{};

  constexpr auto loss_of(auto& step, auto x, auto y) const {
    auto const out = student(x);
    return step.mean(square(out - y)) + step.mean(square(step.stop_gradient(slow(x)) - out));
  }
  constexpr void train(auto& step, auto x, auto y) const {
    int const half = step.batch() / 2;
    auto const first = loss_of(step, step.slice(x, 0, 0, half), step.slice(y, 0, 0, half));
    auto const second = loss_of(step, step.slice(x, 0, half, half), step.slice(y, 0, half, half));
    auto gradients = step.gradient(first, weights_of(student));
    auto const more = step.gradient(second, weights_of(student));
    for (std::size_t i = 0; i < gradients.size(); ++i) gradients[i] = clip(gradients[i] + more[i], -1.0F, 1.0F);
    step.apply(optimizer, weights_of(student), gradients);
    step.metric("loss", first + second);
    step.average(weights_of(slow), weights_of(student), 0.99F);  // a teacher that follows its student
    step.every(100, [&] { step.average(weights_of(kept), weights_of(student), 0); });
  }
};
using follower = sc::step_trainer<follower_step>;

inline constexpr auto optimizer = sc::optimizers::layer_rates{.optimizer = sc::optimizers::adam{.learning_rate = 1e-3F},
                                                              .rates = {{"conv[1-4]_.*", 0.1F}, {"conv5_.*", 0.3F}}};

}  // namespace steps

namespace loops {

using mlp = sc::sequential<input{4}, dense{8, sc::relu}, dense{10}>;

void train(rows const& x, xt::xtensor<int, 1> const& y) {
  sc::trainer<mlp, training, sc::with_gradients<>>
      model;                                       // <stagecraft/steps.hpp>; with_gradients<sc::host<4>>: four threads
  auto [loss, gradients] = model.gradients(x, y);  // at most batch_size samples
  for (auto& each : gradients)
    for (float& value : each.values) value *= 0.5F;
  model.apply_gradients(gradients);  // one step of the optimizer
}

}  // namespace loops

namespace shared {

using generator = sc::named<"generator", sc::sequential<input{4}, dense{8, sc::relu}, dense{2}>>;
using critic = sc::named<"critic", sc::sequential<input{2}, dense{8, sc::gelu}, dense{2}>>;
struct gan : sc::functional<gan> {
  static constexpr auto build(auto& model) {
    auto const noise = model.input(4);
    return sc::frozen<critic>{}(generator{}(noise));
  }
};

void train() {
  sc::trainer<gan, training> both;                                  // calls frozen<critic>{}(generator{}(noise))
  sc::trainer<critic, training> judge{sc::shares<"critic">(both)};  // a part, by its name
  sc::predictor<generator, drawing> draw{sc::shares<"generator">(both)};
  sc::predictor<gan, drawing> all{sc::shares(both)};  // the whole model
}

}  // namespace shared

namespace imported {

using amplifier =
    sc::named<"rtneural", sc::sequential<input{1, 1}.of_batch_size(1),
                                         lstm{40, {.return_sequences = true, .stateful = true}}, dense{1}>>;

struct own_hard_swish : sc::layer<own_hard_swish> {
  static constexpr std::string_view class_name = "own_hard_swish";

  constexpr auto call(auto&, auto x) const { return x * sc::minimum(sc::maximum(x / 6.0F + 0.5F, 0.0F), 1.0F); }
};

}  // namespace imported
