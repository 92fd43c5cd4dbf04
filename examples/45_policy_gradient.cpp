// SPDX-License-Identifier: BSD-3-Clause
// A policy gradient (REINFORCE): a network learns to catch what falls, from drawn pictures of the game alone. It plays
// many games at once by `predict`, and each batch of moves is a training step of its own.
#include <stagecraft/steps.hpp>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <random>
#include <vector>

#include "command_line/command_line.hpp"

namespace sc = stagecraft;
using namespace sc::layers;

inline constexpr int width = 7, height = 8, pixels = width * height, moves = height - 1, games = 64;

/// The chances of the three moves; what was chosen becomes likelier by what it has won more than others.
struct policy_step : sc::training_step<policy_step, input{pixels}, input{1}, input{1}> {
  sc::trained<sc::sequential<input{pixels}, dense{48, sc::relu}, dense{3}>, "policy"> policy;
  static constexpr auto optimizer = sc::optimizers::adam{.learning_rate = 0.003F};

  constexpr void train(auto& step, auto seen, auto chosen, auto gain) const {
    auto const chances = step.softmax(policy(seen));
    auto const taken = step.sum(step.one_hot(step.reshape(chosen, {step.batch()}), 3) * log(chances + 1e-8F), -1);
    auto const entropy = -step.mean(step.sum(chances * log(chances + 1e-8F), -1));
    step.minimize(optimizer, -step.mean(taken * gain) - entropy * 0.01F, weights_of(policy));
    step.metric("entropy", entropy);
  }
  constexpr auto predict(auto& step, auto seen) const { return step.softmax(policy(seen)); }
};
using trainer = sc::step_trainer<policy_step, sc::step_options{.batch_size = games * moves}>;

/// A ball falls and drifts to a side; a bat three pixels wide is moved left, not at all, or right.
struct game {
  int ball, drift, bat;
  explicit game(std::mt19937& engine)
      : ball(draw(engine, width)), drift(draw(engine, 3) - 1), bat(1 + draw(engine, width - 2)) {}

  static int draw(std::mt19937& engine, int below) { return std::uniform_int_distribution<int>(0, below - 1)(engine); }
  void move(int direction) {
    bat = bat + direction < 1 ? 1 : bat + direction > width - 2 ? width - 2 : bat + direction;
    if (ball + drift < 0 || ball + drift >= width) drift = -drift;
    ball += drift;
  }
  [[nodiscard]] bool is_caught() const { return ball >= bat - 1 && ball <= bat + 1; }
  /// Writes the picture: the ball, half as bright where it is going, and the bat below.
  void paint(xt::xtensor<float, 2>& pictures, std::size_t row, int line) const {
    auto const at = [&](int y, int x) -> float& { return pictures(row, static_cast<std::size_t>(y * width + x)); };
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x) at(y, x) = 0;
    for (int x = bat - 1; x <= bat + 1; ++x) at(height - 1, x) = 1;
    if (ball + drift >= 0 && ball + drift < width) at(line, ball + drift) = 0.5F;
    at(line, ball) = 1;
  }
};

/// Games from their first move to their last.
struct played {
  xt::xtensor<float, 2> seen = xt::zeros<float>({std::size_t{games} * moves, std::size_t{pixels}});
  xt::xtensor<float, 2> chosen = xt::zeros<float>({std::size_t{games} * moves, std::size_t{1}}), gain = chosen;
  double caught = 0;
};
played play(trainer& model, std::mt19937& engine, bool draws) {
  std::vector<game> all;
  for (int i = 0; i < games; ++i) all.emplace_back(engine);
  std::uniform_real_distribution<float> between(0, 1);
  played result;
  // The predictor takes whole batches of the step: moves that are not played yet are empty pictures.
  for (int move = 0; move < moves; ++move) {
    auto const first = static_cast<std::size_t>(move) * games;
    for (std::size_t i = 0; i < games; ++i) all[i].paint(result.seen, first + i, move);
    xt::xtensor<float, 2> const chances =
        model.predict(xt::eval(xt::view(result.seen, xt::range(first, first + games))));
    for (std::size_t i = 0; i < games; ++i) {
      float const drawn = between(engine), left = chances(i, 0), stay = chances(i, 1), right = chances(i, 2);
      int choice = drawn < left ? 0 : drawn < left + stay ? 1 : 2;
      if (!draws) choice = left > stay && left > right ? 0 : stay > right ? 1 : 2;
      result.chosen(first + i, 0) = static_cast<float>(choice);
      all[i].move(choice - 1);
    }
  }
  for (auto const& each : all) result.caught += each.is_caught() ? 1.0 / games : 0;
  for (std::size_t i = 0; i < result.gain.size(); ++i)
    result.gain(i, 0) = (all[i % games].is_caught() ? 1.0F : 0.0F) - static_cast<float>(result.caught);
  return result;
}

int main(int argc, char** argv) {
  auto const given = read_arguments(argc, argv, "Learns to catch what falls, from pictures and who wins.", 30);
  trainer model;
  std::mt19937 engine(1);
  double const before = play(model, engine, false).caught;
  for (int epoch = 1; epoch <= given.epochs; ++epoch) {
    double caught = 0, entropy = 0;
    constexpr int rounds = 20;
    for (int i = 0; i < rounds; ++i) {
      auto const now = play(model, engine, true);
      entropy += model.train_on_batch(sc::inputs(now.seen, now.chosen, now.gain))[0] / rounds;
      caught += now.caught / rounds;
    }
    if (epoch % 5 == 0) std::printf("epoch %d: caught %.3f, entropy %.3f\n", epoch, caught, entropy);
  }
  double after = 0;
  for (int i = 0; i < 10; ++i) after += play(model, engine, false).caught / 10;
  std::printf("it caught %.2f of the balls, and catches %.2f\n", before, after);
  return after > 0.95 ? 0 : 1;
}
