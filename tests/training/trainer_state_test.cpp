// SPDX-License-Identifier: BSD-3-Clause
// What a trainer keeps between its verbs: it can be moved, trainings see samples in orders of their own, and a callback
// may use the trainer that calls it.
#include <doctest/doctest.h>

#include <stagecraft/pipeline.hpp>
#include <stagecraft/training/trainer.hpp>
#include <array>
#include <utility>
#include <vector>

namespace sc = stagecraft;
using namespace sc::layers;

namespace {

using line = sc::sequential<input{1}, dense{1}>;
inline constexpr auto training = sc::training{.optimizer = sc::optimizers::sgd{.learning_rate = 0.05F},
                                              .loss = sc::losses::mean_squared_error{},
                                              .metrics = sc::metrics::mean_absolute_error{},
                                              .batch_size = 2};
using trainer = sc::trainer<line, training>;

struct points {
  xt::xtensor<float, 2> x = xt::xtensor<float, 2>::from_shape({8, 1});
  xt::xtensor<float, 2> y = xt::xtensor<float, 2>::from_shape({8, 1});
  points() {
    for (std::size_t i = 0; i < 8; ++i) {
      x(i, 0) = static_cast<float>(i) / 4 - 1;
      y(i, 0) = i % 3 == 0 ? 1.0F : -0.5F;
    }
  }
};

std::vector<float> values_of(trainer const& model) {
  std::vector<float> result;
  for (auto const& weight : model.get_weights())
    result.insert(result.end(), weight.values.begin(), weight.values.end());
  return result;
}

/// Evaluates the model that is being evaluated.
struct curious : sc::callback {
  trainer* inner = nullptr;
  points const* data = nullptr;
  int asked = 0;
  void on_test_batch_end(int, sc::logs&) override {
    if (asked++ == 0) inner->test_on_batch(xt::view(data->x, xt::range(0, 2)), xt::view(data->y, xt::range(0, 2)));
  }
};

/// Adds a value of its own to the logs of each batch.
struct adder : sc::callback {
  void on_train_batch_end(int, sc::logs& values) override { values["own"] = 7; }
};

}  // namespace

TEST_CASE("a trainer can be moved, and trains on as if it had not been") {
  points const data;
  trainer stays, goes;
  stays.fit(data.x, data.y, {.epochs = 2, .verbose = 0});
  goes.fit(data.x, data.y, {.epochs = 2, .verbose = 0});
  trainer arrived = std::move(goes);
  CHECK(values_of(arrived) == values_of(stays));
  stays.fit(data.x, data.y, {.epochs = 1, .verbose = 0});
  arrived.fit(data.x, data.y, {.epochs = 1, .verbose = 0});
  CHECK(values_of(arrived) == values_of(stays));
  std::vector<trainer> several;
  several.push_back(std::move(arrived));
  several.emplace_back();
  CHECK(values_of(several[0]) == values_of(stays));
}

TEST_CASE("each training has orders of its own; one that is continued has those of an uninterrupted one") {
  points const data;
  auto const weights_after = [&](auto&& train) {
    trainer model;
    train(model);
    return values_of(model);
  };
  auto const at_once = weights_after([&](trainer& m) { m.fit(data.x, data.y, {.epochs = 2, .verbose = 0}); });
  auto const continued = weights_after([&](trainer& m) {
    m.fit(data.x, data.y, {.epochs = 1, .verbose = 0});
    m.fit(data.x, data.y, {.epochs = 2, .verbose = 0, .initial_epoch = 1});
  });
  auto const twice = weights_after([&](trainer& m) {
    m.fit(data.x, data.y, {.epochs = 1, .verbose = 0});
    m.fit(data.x, data.y, {.epochs = 1, .verbose = 0});
  });
  auto const same_seed_twice = weights_after([&](trainer& m) {
    m.fit(data.x, data.y, {.epochs = 1, .verbose = 0, .seed = 5});
    m.fit(data.x, data.y, {.epochs = 1, .verbose = 0, .seed = 5});
  });
  CHECK(continued == at_once);
  CHECK(twice != at_once);
  CHECK(same_seed_twice == weights_after([&](trainer& m) {
          for (int i = 0; i < 2; ++i) m.fit(data.x, data.y, {.epochs = 1, .verbose = 0, .seed = 5});
        }));
}

TEST_CASE("a callback may evaluate the model that calls it") {
  points const data;
  trainer model;
  auto const expected = model.evaluate(data.x, data.y, {.verbose = 0});
  curious asks;
  asks.inner = &model;
  asks.data = &data;
  CHECK(model.evaluate(data.x, data.y, {.verbose = 0, .callbacks = {&asks}}) == expected);
  CHECK(asks.asked > 0);
}

TEST_CASE("what a callback adds to the logs reaches the history in each epoch, validated or not") {
  points const data;
  trainer model;
  adder adds;
  auto const history = model.fit(
      data.x, data.y,
      {.epochs = 4, .verbose = 0, .callbacks = {&adds}, .validation_data = {data.x, data.y}, .validation_freq = 2});
  CHECK(history.at("own").size() == 4);
  CHECK(history.at("val_loss").size() == 2);
}
