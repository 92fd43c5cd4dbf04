// SPDX-License-Identifier: BSD-3-Clause
// Stateful layers: what they keep from batch to batch is Keras's, on the host and on tiles, and nobody takes it for
// weights.
#include <stagecraft/models/summary.hpp>
#include <stagecraft/training/predictor.hpp>
#include "../laws/policies.hpp"
#include "golden_trainer.hpp"

namespace {

struct stateful : sc::functional<stateful> {
  static constexpr auto build(auto& model) {
    auto x = input{4, 3}.of_batch_size(2)(model);
    auto a = lstm(3, {.return_sequences = true, .stateful = true, .name = "a"})(x);
    auto b = bidirectional(gru(2, {.return_sequences = true, .stateful = true}), {.name = "b"})(a);
    auto c =
        rnn(stacked_rnn_cells(lstm_cell(2), lstm_cell(3)), {.go_backwards = true, .stateful = true, .name = "c"})(b);
    auto d = simple_rnn(3, {.return_sequences = true, .stateful = true, .name = "d"})(masking()(x));
    auto e = conv_lstm1d(2, 2, {.padding = sc::padding::same, .stateful = true, .name = "e"})(reshape(4, 3, 1)(x));
    return dense(2)(concatenate()(c, flatten()(d), flatten()(e)));
  }
};
constexpr auto training = sc::training{.optimizer = sc::optimizers::sgd{.learning_rate = 0.05F},
                                       .loss = sc::losses::mean_squared_error{},
                                       .batch_size = 2};
constexpr auto inference = sc::inference{.batch_size = 2};

static_assert(sc::is_stateful<stateful>);

struct data {
  golden::file file = golden::read("stateful.txt");
  sc::sample_set x() const {
    auto const& from = file["x"];
    return xt::xtensor<float, 3>(xt::adapt(from.values, std::array<std::size_t, 3>{6, 4, 3}));
  }
  void give_weights(auto& model) const {
    auto weights = model.get_weights();
    for (std::size_t i = 0; i < weights.size(); ++i) {
      auto const& from = file["initial/" + std::to_string(i)];
      REQUIRE(std::vector<std::size_t>(weights[i].shape.begin(), weights[i].shape.end()) == from.shape);
      weights[i].values = from.values;
    }
    model.set_weights(weights);
    long long numbers = 0;
    for (auto const& weight : weights) numbers += static_cast<long long>(weight.values.size());
    CHECK(sc::count_parameters<stateful>() == numbers);
  }
  void check(auto& model, std::string const& name) const {
    CAPTURE(name);
    CHECK(golden::deviation(model.predict(x()).storage(), file[name].values) < 2e-5);
  }
};

template <class Machine>
void check_training() {
  data const given;
  sc::trainer<stateful, training, Machine> model;
  given.give_weights(model);
  given.check(model, "first");
  given.check(model, "second");
  auto const y = golden::rows(given.file["y"]);
  auto const history = model.fit(given.x(), y, {.epochs = 3, .verbose = 0, .shuffle = false});
  CHECK(golden::deviation(history.history["loss"], given.file["losses"].values) < golden::loss_tolerance);
  CHECK(std::abs(model.evaluate(given.x(), y, {.verbose = 0})[0] -
                 static_cast<double>(given.file["evaluated"].values[0])) < golden::loss_tolerance);
  sc::trainers::trainable& seen_by_callbacks = model;
  seen_by_callbacks.reset_states();
  given.check(model, "reset");
  auto const check_states = [&](std::string const& name, auto const& states) {
    for (std::size_t i = 0; i < states.size(); ++i)
      CHECK(golden::deviation(states[i].values, given.file["states/" + name + "_" + std::to_string(i)].values) < 2e-5);
  };
  check_states("a", model.template get_states<"a">());
  check_states("d", model.template get_states<"d">());
  check_states("e", model.template get_states<"e">());
}

}  // namespace

TEST_CASE("the host") { check_training<sc::host<>>(); }
TEST_CASE("tiles") { check_training<laws::tiles>(); }

TEST_CASE("a predictor") {
  data const given;
  sc::predictor<stateful, inference, sc::host<2>> model;
  given.give_weights(model);
  given.check(model, "first");
  auto const kept = model.get_states<"a">();
  given.check(model, "second");
  REQUIRE(kept.size() == 2);
  CHECK(kept[0].shape == std::vector<int>{2, 3});
  // The state of one layer goes, and comes back.
  static_cast<void>(model.predict(given.x()));
  auto const after = model.get_states<"a">();
  model.reset_states<"a">();
  CHECK(model.get_states<"a">()[0].values == std::vector<float>(6, 0.0F));
  model.reset_states<"a">(after);
  CHECK(model.get_states<"a">()[1].values == after[1].values);
  model.reset_states();
  given.check(model, "first");
  CHECK(model.get_states<"a">()[0].values == kept[0].values);

  for (auto const& weight : model.get_weights()) CHECK(weight.name.find("states") == std::string::npos);
  CHECK_THROWS_WITH_AS(model.predict(xt::xtensor<float, 3>(xt::zeros<float>({3, 4, 3}))), doctest::Contains("E4019"),
                       sc::data_error);
  CHECK_THROWS_WITH_AS(model(xt::xtensor<float, 3>(xt::zeros<float>({1, 4, 3}))), doctest::Contains("E4019"),
                       sc::data_error);
}

namespace {

using plain = sc::sequential<input{4}, dense{5}, activation{sc::tanh}, dense{3}>;
using keeping = sc::sequential<input{4}.of_batch_size(2), dense{5}, capture_upstream_gradients{{.name = "before"}},
                               activation{sc::tanh}, capture_upstream_gradients{{.name = "behind"}}, dense{3}>;
template <class Optimizer>
constexpr auto with(Optimizer const& optimizer) {
  return sc::training{.optimizer = optimizer, .loss = sc::losses::mean_squared_error{}, .batch_size = 2};
}
constexpr auto clipped = with(sc::optimizers::adam{.global_clipnorm = 0.1F});
constexpr auto scaled = with(sc::optimizers::als_optimizer{.optimizer = sc::optimizers::sgd{.learning_rate = 0},
                                                           .initial_loss_scaling_factor = 16384,
                                                           .update_frequency = 1,
                                                           .max_loss_scaling_factor = 0x1p30F,
                                                           .captured_grads_only = true});

static_assert(sc::count_parameters<keeping>() == sc::count_parameters<plain>() && !sc::is_stateful<keeping>);

}  // namespace

TEST_CASE("gradients that are kept are those of the loss, and change nothing else") {
  xt::xtensor<float, 2> const x{{0.5F, -1, 2, 0.25F}, {1, 0, -0.5F, 0.75F}}, y{{1, 0, -1}, {0.5F, 2, 0}};
  sc::trainer<plain, clipped> without;
  sc::trainer<keeping, clipped> model;
  model.set_weights(without.get_weights());
  xt::xtensor<float, 2> predicted;
  std::vector<sc::weight_array> weights;
  for (int step = 0; step < 3; ++step) {
    predicted = model.predict(x);
    weights = model.get_weights();
    CHECK(model.train_on_batch(x, y) == without.train_on_batch(x, y));
  }
  for (std::size_t i = 0; i < weights.size(); ++i)
    CHECK(model.get_weights()[i].values == without.get_weights()[i].values);
  auto const behind = model.captured_gradients<"behind">(), before = model.captured_gradients<"before">();
  REQUIRE(behind.values.size() == 10);
  for (std::size_t i = 0; i < 2; ++i)
    for (std::size_t k = 0; k < 5; ++k) {
      double expected = 0, sum = static_cast<double>(weights[1].values[k]);
      for (std::size_t c = 0; c < 3; ++c)
        expected += static_cast<double>((predicted(i, c) - y(i, c)) / 3 * weights[2].values[3 * k + c]);
      for (std::size_t c = 0; c < 4; ++c) sum += static_cast<double>(x(i, c) * weights[0].values[5 * c + k]);
      CHECK(behind.values[5 * i + k] == doctest::Approx(expected).epsilon(1e-4));
      CHECK(before.values[5 * i + k] == doctest::Approx(expected * (1 - std::pow(std::tanh(sum), 2))).epsilon(1e-4));
    }
  (void)model.evaluate(x, y, {.verbose = 0});
  CHECK(model.captured_gradients<"behind">().values == behind.values);

  // The gradients of weights overflow at once, those that are kept do not.
  sc::trainer<keeping, scaled> scaling;
  auto few = scaling.get_weights();
  few[2].values.assign(few[2].values.size(), 0.0F);
  scaling.set_weights(few);
  (void)scaling.train_on_batch(1e3F * x, 1e3F * y);
  CHECK(scaling.loss_scale() == 32768);
}
