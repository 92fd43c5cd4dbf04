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
  sc::trainable& seen_by_callbacks = model;
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
