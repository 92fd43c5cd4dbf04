// SPDX-License-Identifier: BSD-3-Clause
// Which results of steps are reported: accumulated, masked, of the last step only.
#include "execution_cases.hpp"

#include <cmath>
#include <cstddef>
#include <string>

using cases::log_recorder, cases::samples;

namespace {

constexpr auto as_it_is = [](auto&) {};
constexpr auto accumulated = [](auto& training) { training.pipeline.accumulate_outfeed = true; };
constexpr auto accumulated_halves = [](auto& training) {
  training.pipeline.accumulate_outfeed = true;
  training.pipeline.accumulate_outfeed_dtype = sc::dtype::float16;
};
constexpr auto accumulated_asynchronously = [](auto& training) {
  training.pipeline.accumulate_outfeed = true;
  training.asynchronous_callbacks = true;
};
constexpr auto only_loss = [](auto& training) { training.pipeline.outfeed_loss = true; };
constexpr auto masked = [](auto& training) { training.pipeline.outfeed_mask = {true, false}; };
constexpr auto only_last = [](auto& training) { training.outfeed_queue.outfeed_mode = sc::outfeed_mode::last; };
constexpr auto of_single_steps = [](auto& training) {
  training.steps_per_execution = 1;
  training.pipeline.gradient_accumulation_steps_per_replica = 1;
  training.optimizer.learning_rate = 0;
};
constexpr auto accumulated_at_rest = [](auto& training) {
  training.pipeline.accumulate_outfeed = true;
  training.optimizer.learning_rate = 0;
};

/// The samples of one batch.
samples batch_of(samples const& all, std::size_t batch) {
  samples result(8);
  for (std::size_t i = 0; i < 8; ++i) {
    result.y[i] = all.y[8 * batch + i];
    for (std::size_t k = 0; k < 4; ++k) result.x(i, k) = all.x(8 * batch + i, k);
  }
  return result;
}

std::vector<std::string> names_of(sc::trainers::training_history const& history) {
  std::vector<std::string> result;
  for (auto const& series : history.history) result.push_back(series.name);
  return result;
}

}  // namespace

TEST_CASE_TEMPLATE("results are accumulated over a weight update", Way, cases::unstaged_way, cases::staged_way) {
  samples const data(64);
  typename Way::template trainer<as_it_is> plain;
  typename Way::template trainer<accumulated> model;
  log_recorder plain_calls, calls;
  plain.fit(data.x, data.y, {.epochs = 2, .verbose = 0, .callbacks = {&plain_calls}});
  model.fit(data.x, data.y, {.epochs = 2, .verbose = 0, .callbacks = {&calls}});
  CHECK(model.get_weights() == plain.get_weights());
  REQUIRE(calls.ends.size() == plain_calls.ends.size());
  for (std::size_t i = 0; i < calls.ends.size(); ++i)
    for (std::size_t k = 0; k < calls.ends[i].values.size(); ++k)
      CHECK(calls.ends[i].values[k] == doctest::Approx(plain_calls.ends[i].values[k]).epsilon(1e-6));
}

TEST_CASE("accumulated results are sums of shares in the type of the device") {
  // The losses of eight batches with the first weights, four of which are one weight update.
  samples const data(64);
  cases::unstaged_way::trainer<of_single_steps> single;
  std::vector<float> losses;
  for (std::size_t i = 0; i < 8; ++i) {
    samples const batch = batch_of(data, i);
    losses.push_back(static_cast<float>(single.test_on_batch(batch.x, batch.y)[0]));
  }
  double sum = 0;
  for (int update = 0; update < 2; ++update) {
    float shares = 0;
    for (int i = 0; i < 4; ++i) shares += losses[static_cast<std::size_t>(4 * update + i)] / 4;
    sum += static_cast<double>(shares);
  }
  using trainer = cases::unstaged_way::trainer<accumulated_at_rest>;
  CHECK(trainer().fit(data.x, data.y, {.verbose = 0, .shuffle = false}).at("loss")[0] == sum / 2);
  CHECK(trainer().evaluate(data.x, data.y, {.verbose = 0})[0] == sum / 2);
}

TEST_CASE("halves lose digits") {
  samples const data(64);
  auto const exact = cases::unstaged_way::trainer<accumulated>().evaluate(data.x, data.y, {.verbose = 0});
  auto const rounded = cases::unstaged_way::trainer<accumulated_halves>().evaluate(data.x, data.y, {.verbose = 0});
  CHECK(rounded[0] != exact[0]);
  CHECK(rounded[0] == doctest::Approx(exact[0]).epsilon(4e-3));
  CHECK(std::ldexp(rounded[0], 12) == std::floor(std::ldexp(rounded[0], 12)));  // a mean of two halves around 1
}

TEST_CASE("accumulated results are reported once per execution, also with asynchronous callbacks") {
  samples const data(64);
  log_recorder calls, asynchronous;
  cases::staged_way::trainer<accumulated>().fit(data.x, data.y, {.verbose = 0, .callbacks = {&calls}});
  cases::staged_way::trainer<accumulated_asynchronously> model;
  model.fit(data.x, data.y, {.verbose = 0, .callbacks = {&asynchronous}});
  CHECK(calls.ends == asynchronous.ends);
  CHECK(calls.begins == 2);
  model.predict(data.x, {.callbacks = {&asynchronous}});
  CHECK(asynchronous.begins == 2 + 8);
}

TEST_CASE_TEMPLATE("only the loss is reported while training", Way, cases::unstaged_way, cases::staged_way) {
  samples const data(64);
  typename Way::template trainer<only_loss> model;
  typename Way::template trainer<as_it_is> plain;
  auto const history = model.fit(data.x, data.y, {.verbose = 0, .validation_data = data});
  CHECK(names_of(history) ==
        std::vector<std::string>{"loss", "val_loss", "val_accuracy", "val_sparse_top_k_categorical_accuracy"});
  CHECK(plain.fit(data.x, data.y, {.verbose = 0}).at("loss") == history.at("loss"));
  CHECK(model.evaluate(data.x, data.y, {.verbose = 0}) == plain.evaluate(data.x, data.y, {.verbose = 0}));
}

TEST_CASE("masked metrics are not reported while training") {
  samples const data(64), batch(8);
  cases::unstaged_way::trainer<masked> model;
  cases::unstaged_way::trainer<as_it_is> plain;
  CHECK(model.train_on_batch(batch.x, batch.y).size() == 2);
  CHECK(model.test_on_batch(batch.x, batch.y).size() == 3);
  plain.train_on_batch(batch.x, batch.y);
  auto const history = model.fit(data.x, data.y, {.verbose = 0, .validation_data = data});
  auto const expected = plain.fit(data.x, data.y, {.verbose = 0, .validation_data = data});
  CHECK(names_of(history) == std::vector<std::string>{"loss", "sparse_top_k_categorical_accuracy", "val_loss",
                                                      "val_accuracy", "val_sparse_top_k_categorical_accuracy"});
  for (auto const& series : history.history) CHECK(series.values == expected.at(series.name));
}

TEST_CASE("an outfeed of the last results") {
  samples const data(64);
  cases::unstaged_way::trainer<of_single_steps> single;
  double loss = 0, accuracy = 0;
  for (std::size_t const last : {3, 7}) {
    samples const batch = batch_of(data, last);
    auto const values = single.test_on_batch(batch.x, batch.y);
    loss += values[0] / 2;
    accuracy += values[1] / 2;
  }
  auto const [found_loss, found_accuracy, top] =
      cases::unstaged_way::trainer<only_last>().evaluate(data.x, data.y, {.verbose = 0});
  CHECK(found_loss == doctest::Approx(loss));
  CHECK(found_accuracy == accuracy);
  CHECK(top > 0);
  auto const predicted = cases::staged_way::trainer<only_last>().predict(data.x);
  CHECK(predicted == cases::staged_way::trainer<as_it_is>().predict(data.x));
}
