// SPDX-License-Identifier: BSD-3-Clause
// Distillation as a training step of one's own: a small student learns from labels, a tenth of which are wrong, and
// from what a large teacher says of all classes. `test` and `predict` of the step evaluate the student.
#include <stagecraft/steps.hpp>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <random>

#include "command_line/command_line.hpp"

namespace sc = stagecraft;
using namespace sc::layers;

using large = sc::sequential<input{2}, dense{64, sc::relu}, dense{64, sc::relu}, dense{3}>;
using small = sc::sequential<input{2}, dense{12, sc::tanh}, dense{12, sc::tanh}, dense{3}>;
inline constexpr auto optimizer = sc::optimizers::adam{.learning_rate = 0.01F};
inline constexpr auto loss_of_labels = sc::losses::sparse_categorical_crossentropy{.from_logits = true};
inline constexpr auto training = sc::training{.optimizer = optimizer, .loss = loss_of_labels, .batch_size = 32};

struct distillation : sc::training_step<distillation, input{2}, input{1}> {
  sc::trained<large, "teacher"> teacher;  // no `minimize` names it: it stays as it is
  sc::trained<small, "student"> student;
  static constexpr float temperature = 2;

  constexpr void train(auto& step, auto x, auto y) const {
    auto const says = step.softmax(teacher(x) * (1 / temperature)), learns = student(x);
    auto const imitates = step.softmax(learns * (1 / temperature));
    auto const hard = step.loss(loss_of_labels, y, learns);
    auto const soft = step.mean(step.sum(says * log((says + 1e-7F) / (imitates + 1e-7F)), -1));
    step.minimize(optimizer, hard * 0.1F + soft * (0.9F * temperature * temperature), weights_of(student));
    step.metric("labels", hard);
    step.metric("teacher", soft);
  }
  constexpr void test(auto& step, auto x, auto y) const {
    step.metric("labels", step.loss(loss_of_labels, y, student(x)));
  }
  constexpr auto predict(auto& step, auto x) const { return step.softmax(student(x)); }
};

struct points {
  xt::xtensor<float, 2> x, y;
};
/// Three arms of a spiral.
points draw(std::size_t count, double wrong, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<double> noise(0, 0.08);
  std::uniform_real_distribution<double> unit(0, 1);
  points result{xt::zeros<float>({count, std::size_t{2}}), xt::zeros<float>({count, std::size_t{1}})};
  for (std::size_t i = 0; i < count; ++i) {
    double const along = unit(engine), angle = 2.0944 * static_cast<double>(i % 3) + 3.5 * along;
    result.x(i, 0) = static_cast<float>((0.2 + along) * std::cos(angle) + noise(engine));
    result.x(i, 1) = static_cast<float>((0.2 + along) * std::sin(angle) + noise(engine));
    result.y(i, 0) = static_cast<float>(unit(engine) < wrong ? (i + 1) % 3 : i % 3);
  }
  return result;
}
/// The share of rows whose largest number is that of the label.
double accuracy(xt::xtensor<float, 2> const& scores, xt::xtensor<float, 2> const& labels) {
  int right = 0;
  for (std::size_t i = 0; i < scores.shape(0); ++i) {
    int best = 0;
    for (int k = 1; k < 3; ++k)
      if (scores(i, static_cast<std::size_t>(k)) > scores(i, static_cast<std::size_t>(best))) best = k;
    right += best == static_cast<int>(labels(i, 0)) ? 1 : 0;
  }
  return right / static_cast<double>(scores.shape(0));
}

int main(int argc, char** argv) {
  auto const given = read_arguments(argc, argv, "A small network learns from a large one.", 40);
  auto const train = draw(960, 0.1, 1), test = draw(960, 0, 2);
  sc::trainer<large, training> teacher;
  teacher.fit(train.x, train.y, {.epochs = given.epochs, .verbose = 0});

  sc::step_trainer<distillation, sc::step_options{.batch_size = 32}> model;
  model.set_weights<"teacher">(teacher.get_weights());
  model.fit(train.x, train.y, {.epochs = given.epochs, .verbose = 2, .validation_data = sc::inputs(test.x, test.y)});
  double const of_teacher = accuracy(teacher.predict(test.x), test.y), learnt = accuracy(model.predict(test.x), test.y);
  std::printf("of new points the teacher gets %.3f right, the student %.3f; its loss is %.3f\n", of_teacher, learnt,
              model.evaluate(sc::inputs(test.x, test.y))[0]);
  return learnt > 0.93 ? 0 : 1;
}
