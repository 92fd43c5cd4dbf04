// SPDX-License-Identifier: BSD-3-Clause
// A model with two inputs and two outputs, with loss weights, against real Keras.
#include "golden_trainer.hpp"

namespace {

struct two_outputs : sc::functional<two_outputs> {
  static constexpr auto build(auto& model) {
    auto one = model.input(3), two = model.input(2);
    auto joined =
        concatenate()(dense(4, sc::relu, {.name = "dense_1"})(one), dense(3, sc::tanh, {.name = "dense_2"})(two));
    return sc::outputs(dense(5, {.name = "a"})(joined), dense(2, {.name = "b"})(joined));
  }
};

inline constexpr auto two_losses = sc::losses::per_output(
    sc::losses::sparse_categorical_crossentropy{.from_logits = true}, sc::losses::mean_squared_error{});
inline constexpr auto training =
    sc::training{.optimizer = sc::optimizers::sgd{.learning_rate = 0.1F},
                 .loss = two_losses,
                 .metrics = sc::metrics::per_output({"a", sc::metrics::accuracy{}}, {"b", sc::metrics::mae{}}),
                 .batch_size = 4};
inline constexpr auto weighted = sc::training{.optimizer = sc::optimizers::sgd{.learning_rate = 0.1F},
                                              .loss = two_losses,
                                              .metrics = training.metrics,
                                              .loss_weights = {0.25, 2},
                                              .batch_size = 4};

/// Nine heads, more than fit into a small array.
struct nine_outputs : sc::functional<nine_outputs> {
  static constexpr auto build(auto& model) {
    auto x = model.input(3);
    auto const head = [&] { return dense(1, {.use_bias = false})(x); };
    return sc::outputs(head(), head(), head(), head(), head(), head(), head(), head(), head());
  }
};
inline constexpr auto nine_losses = sc::training{.optimizer = sc::optimizers::sgd{.learning_rate = 0.1F},
                                                 .loss = sc::losses::mean_squared_error{},
                                                 .loss_weights = {1, 1, 1, 1, 1, 1, 1, 1, 4},
                                                 .batch_size = 2};

struct data {
  golden::file file = golden::read("functional.txt");
  sc::sample_set x(std::size_t first, std::size_t count) const {
    return sc::inputs(golden::rows(file["two_outputs/data/one"], first, count),
                      golden::rows(file["two_outputs/data/two"], first, count));
  }
  sc::sample_set y(std::size_t first, std::size_t count) const {
    return sc::targets(golden::labels(file["two_outputs/data/a"], first, count),
                       golden::rows(file["two_outputs/data/b"], first, count));
  }
};

template <class Trainer>
void check_steps(std::string const& name) {
  data const given;
  Trainer model;
  golden::set_weights(model, given.file, "two_outputs/initial");
  std::vector<double> losses;
  for (std::size_t step = 0; step < 5; ++step) {
    auto const values = model.train_on_batch(given.x(step * 4, 4), given.y(step * 4, 4));
    losses.insert(losses.end(), values.begin(), values.begin() + 3);
  }
  golden::check_steps(model, losses, given.file, name, name + "/final");
  auto const [a, b] = model.predict(given.x(0, 4));
  double const of_a = golden::deviation(a.storage(), given.file[name + "/predict/a"].values);
  double const of_b = golden::deviation(b.storage(), given.file[name + "/predict/b"].values);
  CHECK(of_a < golden::weight_tolerance);
  CHECK(of_b < golden::weight_tolerance);
  CHECK(a.shape()[1] == 5);
  CHECK(b.shape()[1] == 2);
}

template <class Trainer>
void check_fit(std::string const& name) {
  data const given;
  Trainer model;
  golden::set_weights(model, given.file, "two_outputs/initial");
  auto const history =
      model.fit(given.x(0, 10), given.y(0, 10),
                {.epochs = 2, .verbose = 0, .validation_data = {given.x(10, 10), given.y(10, 10)}, .shuffle = false});
  golden::check_history(history.history, given.file, name + "/fit/history/");
  double const of_weights = golden::weight_deviation(model, given.file, name + "/fit/final");
  CHECK(of_weights < golden::weight_tolerance);
}

}  // namespace

TEST_CASE("two inputs and two outputs") {
  check_steps<sc::trainer<two_outputs, training>>("two_outputs");
  check_fit<sc::trainer<two_outputs, training>>("two_outputs");
}
TEST_CASE("with loss weights") {
  check_steps<sc::trainer<two_outputs, weighted>>("two_outputs_weighted");
  check_fit<sc::trainer<two_outputs, weighted>>("two_outputs_weighted");
}

TEST_CASE("nine outputs, the last of which counts most") {
  sc::trainer<nine_outputs, nine_losses> model;
  xt::xtensor<float, 2> const x({2, 3}, 0.5F);
  std::vector<float> const zeros(2, 0.0F);
  sc::sample_set const y(std::vector<sc::trainers::sample_source>(9, zeros));
  auto const before = model.test_on_batch(x, y);
  REQUIRE(before.size() == 10);
  double total = 0;
  for (std::size_t i = 1; i < 10; ++i) total += before[i] * (i == 9 ? 4 : 1);
  CHECK(before[0] == doctest::Approx(total));
  model.train_on_batch(x, y);
  auto const after = model.test_on_batch(x, y);
  // A step takes 2 * 0.1 * weight * x^2 * 3 of the prediction.
  for (std::size_t i = 1; i < 10; ++i)
    CHECK(after[i] == doctest::Approx(before[i] * (i == 9 ? 0.4 * 0.4 : 0.85 * 0.85)).epsilon(1e-3));
}
