// SPDX-License-Identifier: BSD-3-Clause
// Learning to learn (MAML): weights from which one gradient step on ten points of a wave is enough to draw all of it.
// The step stands inside of the network, and training differentiates through it. Each sample is a task.
#include <stagecraft/stagecraft.hpp>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <random>

#include "command_line/command_line.hpp"

namespace sc = stagecraft;
using namespace sc::layers;

inline constexpr int points = 10;

/// Answers for `query`, by weights that have gone one step down the slope of the error at the known points: with a rate
/// of 0, by the weights as they are.
struct learner : sc::layer<learner> {
  static constexpr std::string_view class_name = "Learner";
  int units = 24;
  float rate = 0;
  constexpr explicit learner(float rate_) : rate(rate_) {}

  constexpr auto call(auto& ops, auto support, auto answers, auto query) const {
    int const tasks = support.length(0);
    auto const of_each_task = [&](sc::fixed_name const& name, sc::shape const& shape, int rows, int columns) {
      return ops.broadcast(ops.reshape(ops.weight({.name = name, .shape = shape}), {1, rows, columns}),
                           {tasks, rows, columns});
    };
    auto const network = [&](auto x, auto k1, auto b1, auto k2, auto b2, auto k3, auto b3) {
      auto const hidden = tanh(ops.matmul(tanh(ops.matmul(x, k1) + b1), k2) + b2);
      return ops.matmul(hidden, k3) + b3;
    };
    auto const k1 = of_each_task("first/kernel", {1, units}, 1, units),
               b1 = of_each_task("first/bias", {units}, 1, units);
    auto const k2 = of_each_task("second/kernel", {units, units}, units, units),
               b2 = of_each_task("second/bias", {units}, 1, units);
    auto const k3 = of_each_task("last/kernel", {units, 1}, units, 1), b3 = of_each_task("last/bias", {1}, 1, 1);
    if (rate == 0) return network(query, k1, b1, k2, b2, k3, b3);
    auto const errors = square(network(support, k1, b1, k2, b2, k3, b3) - answers) * (1.0F / points);
    auto const [dk1, db1, dk2, db2, dk3, db3] = ops.gradient(errors, {k1, b1, k2, b2, k3, b3});
    return network(query, k1 - dk1 * rate, b1 - db1 * rate, k2 - dk2 * rate, b2 - db2 * rate, k3 - dk3 * rate,
                   b3 - db3 * rate);
  }
};
template <float Rate>
struct meta_model : sc::functional<meta_model<Rate>> {
  static constexpr std::string_view name = "meta";
  static constexpr auto build(auto& model) {
    auto const support = model.input(points, 1), answers = model.input(points, 1), query = model.input(points, 1);
    return learner(Rate)(support, answers, query);
  }
};
inline constexpr auto training = sc::training{.optimizer = sc::optimizers::adam{.learning_rate = 0.003F},
                                              .loss = sc::losses::mean_squared_error{},
                                              .batch_size = 16};
inline constexpr auto inference = sc::inference{.batch_size = 16};

struct tasks {
  xt::xtensor<float, 3> support, answers, query, wanted;
};
/// Points of waves whose height and place differ from task to task.
tasks draw(std::size_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> height(0.5F, 2), begin(0, 3.14F), place(-3, 3);
  xt::xtensor<float, 3> const none = xt::zeros<float>({count, std::size_t{points}, std::size_t{1}});
  tasks result{none, none, none, none};
  for (std::size_t i = 0; i < count; ++i) {
    float const a = height(engine), b = begin(engine);
    for (std::size_t k = 0; k < points; ++k) {
      result.support(i, k, 0) = place(engine);
      result.query(i, k, 0) = place(engine);
      result.answers(i, k, 0) = a * std::sin(result.support(i, k, 0) + b);
      result.wanted(i, k, 0) = a * std::sin(result.query(i, k, 0) + b);
    }
  }
  return result;
}
double error_of(xt::xtensor<float, 3> const& found, xt::xtensor<float, 3> const& wanted) {
  double sum = 0;
  for (std::size_t i = 0; i < found.size(); ++i)
    sum += std::pow(static_cast<double>(found.flat(i) - wanted.flat(i)), 2);
  return sum / static_cast<double>(found.size());
}

int main(int argc, char** argv) {
  auto const given = read_arguments(argc, argv, "Learns weights from which one step is enough for a new wave.", 60);
  auto const known = draw(2048, 1), fresh = draw(512, 2);
  auto const inputs = sc::inputs(fresh.support, fresh.answers, fresh.query);
  sc::trainer<meta_model<0.1F>, training> model;
  model.fit(sc::inputs(known.support, known.answers, known.query), known.wanted,
            {.epochs = given.epochs, .verbose = 2});

  sc::predictor<meta_model<0.0F>, inference> before;
  before.set_weights(model.get_weights());
  double const unlearnt = error_of(before.predict(inputs), fresh.wanted),
               learnt = error_of(model.predict(inputs), fresh.wanted);
  std::printf("squared error of new waves: %.3f, and %.3f after one step on %d points\n", unlearnt, learnt, points);
  return learnt < 0.2 && learnt < 0.25 * unlearnt ? 0 : 1;
}
