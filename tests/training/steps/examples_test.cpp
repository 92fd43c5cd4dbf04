// SPDX-License-Identifier: BSD-3-Clause
// What the examples of gradients and training steps do, beside ten steps of TensorFlow's: a network that learns from a
// gradient step inside of it, a policy gradient, and a classifier with its saliency map.
#include <stagecraft/steps.hpp>
#include <cstddef>
#include <doctest/doctest.h>
#include <string>

#include "../../golden/ten_steps.hpp"

namespace sc = stagecraft;
using namespace sc::layers;

namespace {

/// Weights for each task: one step down the slope of the error of a few known points.
struct learner : sc::layer<learner> {
  static constexpr std::string_view class_name = "Learner";
  int units = 6;
  float rate = 0.1F;

  constexpr auto call(auto& ops, auto support, auto answers, auto query) const {
    int const tasks = support.length(0), samples = support.length(1);
    auto const of_each_task = [&](sc::fixed_name const& name, sc::shape const& shape, int rows) {
      auto const weight = ops.weight({.name = name, .shape = shape});
      int const columns = shape.back();
      return ops.broadcast(ops.reshape(weight, {1, rows, columns}), {tasks, rows, columns});
    };
    auto const network = [&](auto x, auto w1, auto b1, auto w2, auto b2) {
      return ops.matmul(tanh(ops.matmul(x, w1) + b1), w2) + b2;
    };
    auto const w1 = of_each_task("hidden/kernel", {1, units}, 1), b1 = of_each_task("hidden/bias", {units}, 1);
    auto const w2 = of_each_task("last/kernel", {units, 1}, units), b2 = of_each_task("last/bias", {1}, 1);
    auto const error = square(network(support, w1, b1, w2, b2) - answers) * (1.0F / static_cast<float>(samples));
    auto const [s1, t1, s2, t2] = ops.gradient(error, {w1, b1, w2, b2});
    return network(query, w1 - s1 * rate, b1 - t1 * rate, w2 - s2 * rate, b2 - t2 * rate);
  }
};
struct meta_model : sc::functional<meta_model> {
  static constexpr auto build(auto& model) {
    auto const support = model.input(5, 1), answers = model.input(5, 1), query = model.input(5, 1);
    return learner{}(support, answers, query);
  }
};
inline constexpr auto meta_training = sc::training{.optimizer = sc::optimizers::adam{.learning_rate = 0.01F},
                                                   .loss = sc::losses::mean_squared_error{},
                                                   .batch_size = 4};

struct policy_step : sc::training_step<policy_step, input{6}, input{1}, input{1}> {
  sc::trained<sc::sequential<input{6}, dense{8, sc::tanh}, dense{3}>, "policy"> policy;
  static constexpr auto optimizer = sc::optimizers::rmsprop{.learning_rate = 0.01F};

  constexpr void train(auto& step, auto seen, auto chosen, auto gain) const {
    auto const logits = policy(seen), chances = step.softmax(logits);
    auto const taken = step.sum(step.one_hot(step.reshape(chosen, {step.batch()}), 3) * log(chances), -1);
    auto const entropy = -step.mean(step.sum(chances * log(chances), -1));
    auto const loss = -step.mean(taken * gain) - entropy * 0.01F;
    step.minimize(optimizer, loss, weights_of(policy));
    step.metric("loss", loss);
    step.metric("entropy", entropy);
  }
};

/// Scores of two classes or, with `slopes`, the size of the slope of the largest score by each pixel.
struct classifier : sc::layer<classifier> {
  static constexpr std::string_view class_name = "Classifier";
  bool slopes = false;
  constexpr explicit classifier(bool slopes_ = false) : slopes(slopes_) {}

  constexpr auto call(auto& ops, auto image) const {
    auto const seen = max_pooling2d{2}.call(ops, conv2d{3, 3, sc::gelu}.call(ops, image));
    int const batch = image.length(0), features = seen.length(1) * seen.length(2) * seen.length(3);
    auto const scores = dense{2}.call(ops, ops.reshape(seen, {batch, features}));
    return slopes ? abs(ops.gradient(ops.max(scores, -1), image)) : scores;
  }
};
inline constexpr auto training = sc::training{.optimizer = sc::optimizers::adam{.learning_rate = 0.01F},
                                              .loss = sc::losses::sparse_categorical_crossentropy{.from_logits = true},
                                              .batch_size = 6};

template <std::size_t Rank>
auto array_of(golden::file const& file, std::string const& name) {
  return golden::array_of<xt::xtensor<float, Rank>>(file[name]);
}

}  // namespace

TEST_CASE("a network learns from a gradient step inside of it, as with two tapes") {
  auto const file = golden::read("step_examples.txt");
  sc::trainer<meta_model, meta_training> model;
  golden::check_ten_steps(file, "meta", model, [&](std::string const& step) {
    auto const of = [&](char const* name) { return array_of<3>(file, std::string("meta/") + name + step); };
    return model.train_on_batch(sc::inputs(of("support"), of("answers"), of("query")), of("wanted"));
  });
}

TEST_CASE("a policy gradient has TensorFlow's losses, entropies and weights") {
  auto const file = golden::read("step_examples.txt");
  sc::step_trainer<policy_step, sc::step_options{.batch_size = 12}> model;
  golden::check_ten_steps(file, "policy", model, [&](std::string const& step) {
    auto const of = [&](char const* name) { return array_of<2>(file, std::string("policy/") + name + step); };
    return model.train_on_batch(sc::inputs(of("seen"), of("chosen"), of("gain")));
  });
}

TEST_CASE("a classifier's saliency map after ten steps") {
  auto const file = golden::read("step_examples.txt");
  sc::trainer<sc::sequential<input{6, 6, 1}, classifier{}>, training> model;
  golden::check_ten_steps(file, "saliency", model, [&](std::string const& step) {
    return model.train_on_batch(array_of<4>(file, "saliency/x" + step), array_of<2>(file, "saliency/y" + step));
  });
  static constexpr auto inference = sc::inference{.batch_size = 6};
  sc::predictor<sc::sequential<input{6, 6, 1}, classifier{true}>, inference> map;
  map.set_weights(model.get_weights());
  xt::xtensor<float, 4> const slopes = map.predict(array_of<4>(file, "saliency/x/test"));
  CHECK(golden::largest_difference(slopes, file["saliency/slopes"].values) < 1e-5);
}
