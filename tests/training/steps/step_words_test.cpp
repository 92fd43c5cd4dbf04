// SPDX-License-Identifier: BSD-3-Clause
// Gradients that a step applies itself, moving averages, and sub-steps of some steps only, beside ten steps of a Keras
// model with a train_step.
#include <stagecraft/steps.hpp>
#include <stagecraft/training/shares.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <doctest/doctest.h>
#include <memory>
#include <set>
#include <span>
#include <string>

#include "../../golden/ten_steps.hpp"

namespace sc = stagecraft;
using namespace sc::layers;

namespace {

using line_model = sc::sequential<input{4}, dense{6, sc::tanh}, dense{2}>;
using network = sc::sequential<input{4}, dense{6, sc::tanh}, batch_normalization{{.momentum = 0.9}}, dense{2}>;
inline constexpr auto optimizer = sc::optimizers::adam{.learning_rate = 0.01F};

/// Gradients of two halves of a batch are added and clipped by hand; every third step moves another model.
struct clipped : sc::training_step<clipped, input{4}, input{2}> {
  sc::trained<line_model, "line"> line;
  sc::trained<line_model, "probe"> probe;
  static constexpr auto other_optimizer = sc::optimizers::sgd{.learning_rate = 0.05F, .momentum = 0.9F};

  constexpr void train(auto& step, auto x, auto y) const {
    int const half = step.batch() / 2;
    auto const first = step.mean(square(line(step.slice(x, 0, 0, half)) - step.slice(y, 0, 0, half)));
    auto const second = step.mean(square(line(step.slice(x, 0, half, half)) - step.slice(y, 0, half, half)));
    auto gradients = step.gradient(first, weights_of(line));
    auto const more = step.gradient(second, weights_of(line));
    auto sum = step.full({1}, 0);
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      gradients[i] += more[i];
      sum += step.sum(square(gradients[i]));
    }
    auto const norm = sqrt(sum), scale = clip(0.5F / norm, 0.0F, 1.0F);
    for (auto& each : gradients) each = each * scale;
    step.apply(optimizer, weights_of(line), gradients);
    step.metric("loss", first + second);
    step.metric("norm", norm);
    step.every(3, [&] {
      auto const loss = step.mean(square(probe(x) - y));
      step.minimize(other_optimizer, loss, weights_of(probe));
      step.metric("probe", loss);
    });
  }
};

/// A student that learns from its own moving average; every fourth step copies it.
struct follower : sc::training_step<follower, input{4}, input{2}> {
  sc::trained<network, "student"> student;
  sc::trained<network, "slow"> slow;
  sc::trained<network, "kept"> kept;  // no code calls it

  constexpr void train(auto& step, auto x, auto y) const {
    auto const out = student(x);
    auto const loss = step.mean(square(out - y)) + 0.5F * step.mean(square(step.stop_gradient(slow(x)) - out));
    step.minimize(optimizer, loss, weights_of(student));
    step.metric("loss", loss);
    step.average(weights_of(slow), weights_of(student), 0.9F);
    step.every(4, [&] { step.average(weights_of(kept), weights_of(student), 0); });
  }
};

/// Sub-steps that report the random numbers that they draw; with one sub-step, the step is planned as a graph.
template <bool IsGraph>
struct drawing : sc::training_step<drawing<IsGraph>, input{4}> {
  using line_model = sc::sequential<input{4}, dense{1}>;
  sc::trained<line_model, "line"> line;
  sc::trained<line_model, "other"> other;

  constexpr void train(auto& step, auto x) const {
    auto const draw = [&](auto const& model, char const* normal, char const* uniform, char const* squared) {
      auto const drawn = step.mean(step.normal({step.batch(), 4})), other = step.mean(step.uniform({step.batch(), 1}));
      auto const loss = step.mean(square(model(x) - drawn - other));
      step.minimize(sc::optimizers::sgd{.learning_rate = 0.01F}, loss, weights_of(model));
      step.metric(normal, drawn);
      step.metric(uniform, other);
      step.metric(squared, square(drawn));
    };
    step.repeat(2, [&] { draw(line, "normal", "uniform", "squared"); });
    if (!IsGraph) draw(other, "other_normal", "other_uniform", "other_squared");
  }
};

template <bool IsGraph>
void check_drawn_numbers() {
  static_assert(sc::trainers::has_graphs<drawing<IsGraph>> == IsGraph);
  constexpr auto options = sc::step_options{.batch_size = 8};
  sc::step_trainer<drawing<IsGraph>, options> model, again, other(2);
  xt::xtensor<float, 2> const x = xt::ones<float>({8, 4});
  std::set<double> numbers;
  std::size_t drawn = 0;
  for (int step = 0; step < 3; ++step) {
    auto const found = model.train_on_batch(x), others = other.train_on_batch(x);
    CHECK(found == again.train_on_batch(x));
    REQUIRE(found.size() == (IsGraph ? 3 : 6));
    CHECK(found[2] - found[0] * found[0] > 1e-6);  // a variance: both times have numbers of their own
    for (std::size_t i = 0; i < found.size(); ++i) {
      CHECK_FALSE(found[i] == others[i]);
      if (i % 3 == 1) CHECK((found[i] > 0 && found[i] < 1));
      numbers.insert(found[i]);
      ++drawn;
    }
  }
  CHECK(numbers.size() == drawn);  // those of each sub-step and each step are others
}

/// Learns with a model of `drawing`.
template <bool IsGraph>
struct learning : sc::training_step<learning<IsGraph>, input{4}, input{1}> {
  sc::trained<sc::sequential<input{4}, dense{1}>, IsGraph ? sc::fixed_name("line") : sc::fixed_name("other")> line;

  constexpr void train(auto& step, auto x, auto y) const {
    auto const out = line(x);
    auto loss = step.mean(square(out - y));
    if (!IsGraph) loss = loss + 0.1F * step.mean(square(step.gradient(out, x)));
    step.minimize(optimizer, loss, weights_of(line));
    step.metric("loss", loss);
  }
  constexpr auto predict(auto&, auto x) const { return line(x); }
};

template <bool IsGraph>
void check_shared_weights() {
  static constexpr auto options = sc::step_options{.batch_size = 8, .num_replicas = IsGraph ? 1 : 2};
  using machine = sc::host<IsGraph ? 1 : 2>;
  constexpr sc::fixed_name name = IsGraph ? "line" : "other";
  using drawing_trainer = sc::step_trainer<drawing<IsGraph>, options, machine>;
  auto first = std::make_unique<drawing_trainer>();
  drawing_trainer twin{sc::shares(*first)};
  using learning_trainer = sc::step_trainer<learning<IsGraph>, options, machine>;
  learning_trainer shared{sc::shares(*first)}, copied(3);
  static_assert(sc::trainers::problem_of_steps<learning_trainer, drawing_trainer>.code == (IsGraph ? 0 : 1200));
  static_assert(
      sc::trainers::problem_of_steps<sc::step_trainer<drawing<!IsGraph>, options, machine>, drawing_trainer>.code ==
      1201);
  xt::xtensor<float, 2> x = xt::zeros<float>({8 * drawing_trainer::replicas, 4});
  xt::xtensor<float, 2> const y = xt::ones<float>({8 * drawing_trainer::replicas, 1});
  float number = 0.1F;
  for (float& value : x) value = number = number * 3.7F * (1 - number);
  for (int step = 0; step < 3; ++step) {
    auto const before = first->template get_weights<name>();
    copied.template set_weights<name>(before);
    CHECK(shared.predict(x) == copied.predict(x));
    CHECK(shared.train_on_batch(x, y) == copied.train_on_batch(x, y));
    CHECK(shared.predict(x) == copied.predict(x));
    CHECK(first->template get_weights<name>() == copied.template get_weights<name>());
    CHECK_FALSE(first->template get_weights<name>() == before);
    (step == 1 ? twin : *first).train_on_batch(x);
    CHECK(twin.get_weights() == first->get_weights());
    CHECK_FALSE(shared.template get_weights<name>() == copied.template get_weights<name>());
  }
  first.reset();
  CHECK(shared.template get_weights<name>() == twin.template get_weights<name>());
}

/// Takes a gradient itself, so that one layer has the weights, row by row.
struct smooth : sc::training_step<smooth, input{4}> {
  using model = sc::sequential<input{4}, dense{40}, batch_normalization{{.momentum = 0.5}}, activation{sc::tanh},
                               reshape{5, 8}, conv1d{6, 2}, flatten{}, dense{3}>;
  sc::trained<sc::sequential<input{4}, dense{2}>, "before"> before;
  sc::trained<model, "net"> net;

  constexpr void train(auto& step, auto x) const {
    auto const y = net(x);
    auto const loss =
        step.mean(square(before(x))) + step.mean(square(y - 1)) + 0.1F * step.mean(square(step.gradient(y, x)));
    step.minimize(optimizer, loss, weights_of(before), weights_of(net));
    step.metric("loss", loss);
  }
};

inline constexpr auto learning_alone =
    sc::training{.optimizer = sc::optimizers::sgd{.learning_rate = 0.05F, .momentum = 0.5F},
                 .loss = sc::losses::mean_squared_error{},
                 .batch_size = 8};

template <class Step>
void compare(std::string const& name) {
  auto const file = golden::read("step_words.txt");
  sc::step_trainer<Step, sc::step_options{.batch_size = 8}> model;
  golden::check_ten_steps(file, name, model, [&](std::string const& step) {
    auto const of = [&](char const* what) { return golden::array_of<xt::xtensor<float, 2>>(file[name + what + step]); };
    return model.train_on_batch(sc::inputs(of("/x"), of("/y")));
  });
}

}  // namespace

TEST_CASE("gradients that are added and clipped by hand, and sub-steps of some steps only") {
  compare<clipped>("clipped");
}
TEST_CASE("moving averages of weights, and copies of them") { compare<follower>("follower"); }

TEST_CASE("random numbers differ from sub-step to sub-step and from step to step, and come again with a seed") {
  check_drawn_numbers<true>();
  check_drawn_numbers<false>();
}

TEST_CASE("steps have the weights of another step in one memory") {
  check_shared_weights<true>();
  check_shared_weights<false>();
}

TEST_CASE("others have copies of the weights of a step that takes gradients, and give them back") {
  static_assert(!sc::trainers::has_graphs<smooth>);
  using step_trainer = sc::step_trainer<smooth, sc::step_options{.batch_size = 8}>;
  auto step = std::make_unique<step_trainer>();
  using reader = sc::predictor<smooth::model, sc::inference{.batch_size = 8}>;
  reader shared{sc::shares<"net">(*step)}, copied;
  using learner = sc::trainer<smooth::model, learning_alone, sc::with_gradients<>>;
  learner learns{sc::shares<"net">(*step)}, learns_alone;
  xt::xtensor<float, 2> const y = xt::ones<float>({8, 3});
  xt::xtensor<float, 2> x = xt::zeros<float>({8, 4});
  float number = 0.1F;
  for (float& value : x) value = number = number * 3.7F * (1 - number);
  std::array<float, reader::call_outputs> called{};
  for (int i = 0; i < 6; ++i) {
    CAPTURE(i);
    auto const weights = step->get_weights<"net">();
    copied.set_weights(weights);
    CHECK(shared.get_weights() == weights);
    xt::xtensor<float, 2> const expected = copied.predict(x);
    for (int again = 0; again < 2; ++again) {  // the second finds that nothing has changed
      if (i % 3 != 1) {
        xt::xtensor<float, 2> const found = i % 3 == 0 ? shared.predict(x) : xt::xtensor<float, 2>(shared(x));
        CHECK(found == expected);
      }
      shared.call(std::span<float const, reader::call_inputs>(x.data(), x.size()), called);
      CHECK(std::equal(called.begin(), called.end(), expected.data()));
    }
    learns_alone.set_weights(weights);
    if (i % 2 == 0) {
      CHECK(learns.train_on_batch(x, y) == learns_alone.train_on_batch(x, y));
    } else {
      learns.apply_gradients(learns.gradients(x, y).gradients);
      learns_alone.train_on_batch(x, y);
    }
    CHECK(step->get_weights<"net">() == learns_alone.get_weights());
    CHECK_FALSE(step->get_weights<"net">() == weights);
    CHECK(shared.get_weights() == learns_alone.get_weights());
    step->train_on_batch(x);
    CHECK_FALSE(step->get_weights<"net">() == learns_alone.get_weights());
    if (i == 4) {
      auto others = learns.get_weights();
      others[0].values[1] += 1;
      learns.set_weights(others);
      CHECK(step->get_weights<"net">() == others);
    }
    if (i == 3) {
      auto others = step->get_weights<"net">();
      others[0].values[1] += 1;
      step->set_weights<"net">(others);
    }
    if (i == 2) CHECK(shared.weight<"dense/kernel">()(1, 2) == step->get_weights<"net">()[0].values[42]);
  }
  auto const weights = step->get_weights<"net">();
  step.reset();
  CHECK(shared.get_weights() == weights);
  reader other = shared.sharing_weights();
  copied.set_weights(weights);
  xt::xtensor<float, 2> const expected = copied.predict(x), found = other.predict(x);
  CHECK(found == expected);
  CHECK_THROWS_WITH_AS(shared.set_weights(weights), doctest::Contains("E4108"), sc::data_error);
  CHECK_THROWS_WITH_AS(static_cast<void>(reader{sc::shares(other)}), doctest::Contains("E4108"), sc::data_error);
  CHECK_THROWS_WITH_AS(static_cast<void>(learns.weight<"dense/kernel">()), doctest::Contains("E4108"), sc::data_error);
}

TEST_CASE("replicas and accumulated gradients do not count an average twice") {
  static constexpr auto options = sc::step_options{
      .batch_size = 8, .gradient_accumulation = {.gradient_accumulation_steps_per_replica = 2}, .num_replicas = 2};
  sc::step_trainer<follower, options, sc::host<2>> model;
  xt::xtensor<float, 2> x = xt::zeros<float>({32, 4}), y = xt::zeros<float>({32, 2});
  float number = 0.1F;
  for (auto* const each : {&x, &y})
    for (float& value : *each) value = number = number * 3.7F * (1 - number);
  auto const slow = model.get_weights<"slow">();
  model.train_on_batch(sc::inputs(x, y));
  auto const student = model.get_weights<"student">(), moved = model.get_weights<"slow">(),
             kept = model.get_weights<"kept">();
  for (std::size_t const i : {0, 1, 2, 3, 6, 7})  // weights that are trained
    for (std::size_t k = 0; k < slow[i].values.size(); ++k) {
      CHECK(std::abs(moved[i].values[k] - (0.9F * slow[i].values[k] + 0.1F * student[i].values[k])) < 1e-5F);
      CHECK(std::abs(kept[i].values[k] - student[i].values[k]) < 1e-5F);
    }
  CHECK(kept[4].values == student[4].values);  // moving means
  // Steps 2 to 4 copy nothing, the fifth does.
  for (int step = 2; step <= 5; ++step) {
    model.train_on_batch(sc::inputs(x, y));
    CHECK((model.get_weights<"kept">() == kept) == (step < 5));
  }
}
