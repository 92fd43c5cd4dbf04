// SPDX-License-Identifier: BSD-3-Clause
// Metrics that sc::training takes, in a training step: means of rows, and results of sums and counts over an epoch.
#include <stagecraft/steps.hpp>
#include <cstddef>
#include <cstdint>
#include <doctest/doctest.h>

namespace sc = stagecraft;
using namespace sc::layers;

namespace {

/// Keras's F1Score of one threshold, of all columns together.
struct f1 : sc::own_metric<f1> {
  static constexpr std::string_view name = "f1";
  constexpr auto call(auto& ops, auto target, auto output) const {
    auto const taken = output > 0.5F;
    return ops.concatenate({ops.sum(target * taken, -1), ops.sum(target + taken, -1)});
  }
  constexpr double result(sc::metric_sums const& sums) const { return sums[1] != 0 ? 2 * sums[0] / sums[1] : 0; }
};

struct own_step : sc::training_step<own_step, input{3}, input{1}, input{4}> {
  sc::trained<sc::sequential<input{3}, dense{4, sc::sigmoid}>, "net"> net;
  static constexpr auto optimizer = sc::optimizers::sgd{.learning_rate = 1e-20F};

  constexpr void report(auto& step, auto scores, auto classes, auto wanted) const {
    step.metric("accuracy", sc::metrics::accuracy{}, classes, scores);
    step.metric("f1", f1{}, wanted, scores);
    step.metric("same", sc::metrics::accuracy{}, wanted, scores);
    step.metric("error", sc::metrics::mean_squared_error{}, wanted, scores);
    step.metric("area", sc::metrics::auc{.num_thresholds = 20}, wanted, scores);
    step.metric("top", sc::metrics::sparse_top_k_categorical_accuracy{.k = 2}, classes, scores);
    step.metric("overlap", sc::metrics::mean_io_u{4}, classes, scores);
  }
  constexpr void train(auto& step, auto x, auto classes, auto wanted) const {
    auto const scores = net(x);
    step.minimize(optimizer, step.mean(square(scores - wanted)), weights_of(net));
    report(step, scores, classes, wanted);
  }
  constexpr void test(auto& step, auto x, auto classes, auto wanted) const { report(step, net(x), classes, wanted); }
  constexpr auto predict(auto&, auto x) const { return net(x); }
};

template <sc::metrics::metric Metric, bool HasClasses>
using state = sc::trainers::metric_state<Metric, HasClasses, 4>;

}  // namespace

TEST_CASE("accuracies, and a metric with states, in train and in test") {
  constexpr std::size_t samples = 24;
  xt::xtensor<float, 2> x = xt::zeros<float>({samples, std::size_t{3}}),
                        classes = xt::zeros<float>({samples, std::size_t{1}}),
                        wanted = xt::zeros<float>({samples, std::size_t{4}});
  float number = 0.1F;
  for (float& each : x) each = 2 * (number = number * 3.7F * (1 - number)) - 1;
  for (std::size_t i = 0; i < samples; ++i) {
    classes(i, 0) = static_cast<float>(i * i % 4);
    wanted(i, i * i % 4) = 1;
  }
  sc::step_trainer<own_step, sc::step_options{.batch_size = 8}> model;
  xt::xtensor<float, 2> const scores = model.predict(x);
  state<sc::metrics::auc{.num_thresholds = 20}, false> area;
  state<sc::metrics::mean_io_u{4}, true> overlap;
  area.update(scores.data(), wanted.data(), samples);
  double right = 0, both = 0, each = 0, error = 0, top = 0;
  for (std::size_t i = 0; i < samples; ++i) {
    std::size_t best = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      if (scores(i, k) > scores(i, best)) best = k;
      both += scores(i, k) > 0.5F && wanted(i, k) > 0 ? 1 : 0;
      each += (scores(i, k) > 0.5F ? 1 : 0) + (wanted(i, k) > 0 ? 1 : 0);
      error += static_cast<double>((scores(i, k) - wanted(i, k)) * (scores(i, k) - wanted(i, k)));
    }
    right += wanted(i, best) > 0 ? 1 : 0;
    int larger = 0;
    auto const target = static_cast<std::int32_t>(classes(i, 0));
    for (std::size_t k = 0; k < 4; ++k) larger += scores(i, k) > scores(i, static_cast<std::size_t>(target)) ? 1 : 0;
    top += larger < 2 ? 1 : 0;
    overlap.update(&scores(i, 0), &target, 1);
  }
  REQUIRE(right > 0);
  REQUIRE(both > 0);
  REQUIRE(top > right);
  REQUIRE(area.result() > 0);
  REQUIRE(overlap.result() > 0);
  auto const inputs = sc::inputs(x, classes, wanted);
  auto const tested = model.evaluate(inputs);
  auto const history = model.fit(inputs, {.epochs = 2, .verbose = 0, .validation_data = inputs});
  auto const check = [&](double accuracy, double found_f1, double same, double found_error, double found_area,
                         double found_top, double found_overlap) {
    CHECK(accuracy == doctest::Approx(right / samples));
    CHECK(found_f1 == doctest::Approx(2 * both / each));
    CHECK(same == accuracy);
    CHECK(found_error == doctest::Approx(error / (4 * samples)).epsilon(1e-5));
    CHECK(found_area == doctest::Approx(area.result()));
    CHECK(found_top == doctest::Approx(top / samples));
    CHECK(found_overlap == doctest::Approx(overlap.result()));
  };
  check(tested[0], tested[1], tested[2], tested[3], tested[4], tested[5], tested[6]);
  for (std::size_t epoch = 0; epoch < 2; ++epoch) {
    auto const of = [&](char const* name) { return history.at(name)[epoch]; };
    check(of("accuracy"), of("f1"), of("same"), of("error"), of("area"), of("top"), of("overlap"));
    check(of("val_accuracy"), of("val_f1"), of("val_same"), of("val_error"), of("val_area"), of("val_top"),
          of("val_overlap"));
  }
}
