// SPDX-License-Identifier: BSD-3-Clause
// Replicas: which batches they take, and what is made of their results.
#include "execution_cases.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <type_traits>

using cases::log_recorder, cases::recorder, cases::samples;

namespace {

constexpr auto as_it_is = [](auto&) {};
template <sc::replicated_metric_reduction_method Method>
constexpr auto reduced = [](auto& training) { training.replicated_metric_reduction_method = Method; };
constexpr auto listed = reduced<sc::replicated_metric_reduction_method::list>;
constexpr auto summed = reduced<sc::replicated_metric_reduction_method::sum>;
constexpr auto averaged = reduced<sc::replicated_metric_reduction_method::mean>;
constexpr auto by_single_steps = [](auto& training) {
  training.steps_per_execution = 1;
  training.pipeline.gradient_accumulation_steps_per_replica = 1;
};

/// Every second batch of 8, from one of the first two on.
samples half_of(samples const& all, std::size_t replica) {
  samples result(all.y.size() / 2);
  for (std::size_t i = 0; i < result.y.size(); ++i) {
    auto const from = i / 8 * 16 + replica * 8 + i % 8;
    result.y[i] = all.y[from];
    for (std::size_t k = 0; k < 4; ++k) result.x(i, k) = all.x(from, k);
  }
  return result;
}

using yes_or_no = sc::sequential<sc::layers::input{4}, sc::layers::dense{1, sc::sigmoid}>;
template <int Replicas>
constexpr auto of_all_rows =
    sc::training{.loss = sc::losses::binary_crossentropy{.reduction = sc::losses::reduction::sum},
                 .metrics = {sc::metrics::auc{}, sc::metrics::mean_absolute_error{}},
                 .weighted_metrics = sc::metrics::recall{.thresholds = {0.1F, 0.6F}},
                 .batch_size = 8,
                 .num_replicas = Replicas,
                 .replicated_metric_reduction_method = sc::replicated_metric_reduction_method::mean};

}  // namespace

TEST_CASE("metrics that are no means are those of all replicas' rows, weighted or not") {
  samples const data(64);
  std::vector<float> yes, weights;
  for (std::size_t i = 0; i < 64; ++i) {
    yes.push_back(static_cast<float>(data.y[i] % 2));
    weights.push_back(static_cast<float>(i % 5) / 4);
  }
  sc::trainer<yes_or_no, of_all_rows<1>> alone;
  sc::trainer<yes_or_no, of_all_rows<2>, sc::host<2>> two;
  two.set_weights(alone.get_weights());
  auto const [loss, area, error, recall, surer_recall] =
      alone.evaluate(data.x, yes, {.verbose = 0, .sample_weight = weights});
  auto const [losses, areas, errors, recalls, surer_recalls] =
      two.evaluate(data.x, yes, {.verbose = 0, .sample_weight = weights});
  CHECK(areas == area);
  CHECK(errors == doctest::Approx(error));
  CHECK(recalls == doctest::Approx(recall));
  CHECK(losses == doctest::Approx(loss));
  CHECK(area > 0);
  CHECK(recall > 0);
  // One number for each threshold.
  CHECK(surer_recalls == doctest::Approx(surer_recall));
  CHECK(surer_recall < recall);
  auto const history = alone.fit(data.x, yes, {.verbose = 0}).history;
  CHECK(history.contains("recall_threshold_0"));
  CHECK(history.contains("recall_threshold_1"));
  // What Keras reports of a sum: the mean over batches, whose rows are added up.
  auto const first = alone.test_on_batch(samples(8).x, std::vector<float>(8, 1.0F));
  auto const weighted = alone.test_on_batch(samples(8).x, std::vector<float>(8, 1.0F), std::vector<float>(8, 0.5F));
  CHECK(weighted[0] == doctest::Approx(first[0] / 2));
  CHECK(weighted[3] == doctest::Approx(first[3]));
}

TEST_CASE_TEMPLATE("each replica evaluates its own batches", Way, cases::replicated_way, cases::replicated_stages) {
  samples const data(128);
  std::array<std::array<double, 3>, 2> of_each{};
  for (std::size_t replica = 0; replica < 2; ++replica) {
    samples const half = half_of(data, replica);
    of_each[replica] = cases::unstaged_way::trainer<as_it_is>().evaluate(half.x, half.y, {.verbose = 0});
  }
  typename Way::template trainer<as_it_is> last;
  CHECK(last.evaluate(data.x, data.y, {.verbose = 0}) == of_each[1]);
  auto const all = typename Way::template trainer<listed>().evaluate(data.x, data.y, {.verbose = 0});
  static_assert(std::is_same_v<decltype(all), std::array<std::array<double, 2>, 3> const>);
  auto const sums = typename Way::template trainer<summed>().evaluate(data.x, data.y, {.verbose = 0});
  auto const means = typename Way::template trainer<averaged>().evaluate(data.x, data.y, {.verbose = 0});
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(all[i] == std::array{of_each[0][i], of_each[1][i]});
    CHECK(sums[i] == of_each[0][i] + of_each[1][i]);
    CHECK(means[i] == (of_each[0][i] + of_each[1][i]) / 2);
  }
}

TEST_CASE("the results of all replicas in logs") {
  samples const data(128);
  cases::replicated_way::trainer<listed> model;
  auto const history = model.fit(data.x, data.y, {.epochs = 2, .verbose = 0, .validation_data = data});
  auto const none = cases::replicated_way::trainer<as_it_is>().fit(data.x, data.y, {.epochs = 2, .verbose = 0});
  auto const mean = cases::replicated_way::trainer<averaged>().fit(data.x, data.y, {.epochs = 2, .verbose = 0});
  CHECK(history.at("loss") == none.at("loss"));
  CHECK(history.at("loss") == history.at("loss_replica_1"));
  CHECK(history.at("loss") != history.at("loss_replica_0"));
  CHECK(history.at("val_accuracy") == history.at("val_accuracy_replica_1"));
  for (std::size_t i = 0; i < 2; ++i)
    CHECK(mean.at("loss")[i] == (history.at("loss_replica_0")[i] + history.at("loss_replica_1")[i]) / 2);
}

TEST_CASE_TEMPLATE("predict gives all samples in their order", Way, cases::replicated_way, cases::replicated_stages) {
  for (std::size_t const count : {3, 8, 24, 37, 128}) {
    samples const data(count);
    auto const expected = cases::unstaged_way::trainer<as_it_is>().predict(data.x);
    recorder calls;
    typename Way::template trainer<as_it_is> model;
    CHECK(model.predict(data.x, {.callbacks = {&calls}}) == expected);
    xt::xtensor<float, 2> const first = xt::view(expected, xt::range(std::size_t{0}, std::min<std::size_t>(count, 16)));
    // Steps are batches of both replicas together.
    if (count > 8) CHECK(model.predict(data.x, {.steps = 2}) == first);
    CHECK(model.predict(data.x, {.steps = 1}).shape()[0] == std::min<std::size_t>(count, 8));
    CHECK(model.predict_on_batch(samples(5).x).shape()[0] == 5);
  }
}

TEST_CASE("batches that do not fill all replicas are left out, and some have to be there") {
  samples const data(40), few(8);
  cases::replicated_way::trainer<by_single_steps> model;
  recorder calls;
  model.fit(data.x, data.y, {.verbose = 0, .callbacks = {&calls}});
  CHECK(calls.text == "T( e0( b0-0 b1-1 )e0 )T ");
  char const* const too_few = "x: expected at least 2 batches, one for each replica, found 1 [E4041]";
  CHECK_THROWS_WITH_AS(model.fit(few.x, few.y, {.verbose = 0}), too_few, sc::data_error);
  CHECK_THROWS_WITH_AS(model.evaluate(few.x, few.y, {.verbose = 0}), too_few, sc::data_error);
  CHECK_THROWS_WITH_AS(model.fit(data.x, data.y, {.verbose = 0, .validation_data = few}),
                       "validation_data.x: expected at least 2 batches, one for each replica, found 1 [E4041]",
                       sc::data_error);
  // Options count batches of both replicas together, and callbacks steps of each.
  for (int const batches : {4, 5}) {
    recorder asked;
    model.fit(data.x, data.y, {.verbose = 0, .callbacks = {&asked}, .steps_per_epoch = batches});
    CHECK(asked.text == calls.text);
  }
  samples const uneven(80);
  CHECK_THROWS_WITH_AS(cases::replicated_way::trainer<as_it_is>().fit(uneven.x, uneven.y, {.verbose = 0}),
                       "steps_per_execution: expected a divisor of the epoch's 5 batches of each replica, found 4 "
                       "[E4017]",
                       sc::data_error);
  recorder evaluated;
  auto const of_two = model.evaluate(data.x, data.y, {.verbose = 0, .steps = 2, .callbacks = {&evaluated}});
  samples const both(16);
  CHECK(of_two == model.evaluate(both.x, both.y, {.verbose = 0}));
  CHECK_THROWS_WITH_AS(model.fit(data.x, data.y, {.verbose = 0, .steps_per_epoch = 6}),
                       "steps_per_epoch: expected data for 6 batches, found 5 [E4003]", sc::data_error);
  CHECK_THROWS_WITH_AS(model.fit(data.x, data.y, {.verbose = 0, .steps_per_epoch = 1}),
                       "steps_per_epoch: expected at least 2 batches, one for each replica, found 1 [E4041]",
                       sc::data_error);
  CHECK_THROWS_WITH_AS(model.fit(few.x, few.y, {.verbose = 0, .validation_data = data, .validation_steps = 6}),
                       "validation_steps: expected data for 6 batches, found 5 [E4003]", sc::data_error);
}

TEST_CASE_TEMPLATE("weights that are set reach all replicas", Way, cases::replicated_way, cases::replicated_stages) {
  samples const data(128), batch(8);
  typename Way::template trainer<listed> model;
  cases::unstaged_way::trainer<as_it_is> other(7);
  model.set_weights(other.get_weights());
  auto const all = model.evaluate(data.x, data.y, {.verbose = 0});
  for (std::size_t replica = 0; replica < 2; ++replica) {
    samples const half = half_of(data, replica);
    CHECK(all[0][replica] == other.evaluate(half.x, half.y, {.verbose = 0})[0]);
  }
  model.template weight<"dense/kernel">()(0, 0) = 0.25F;
  other.template weight<"dense/kernel">()(0, 0) = 0.25F;
  CHECK(model.predict(data.x) == other.predict(data.x));
  CHECK(model.test_on_batch(batch.x, batch.y) == other.test_on_batch(batch.x, batch.y));
}
