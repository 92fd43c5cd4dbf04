// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/metrics/metrics.hpp>
#include <stagecraft/training/metric_state.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "../golden/golden.hpp"
#include "../metrics/metric_table.hpp"

namespace sc = stagecraft;

namespace {

/// log(cosh(error)).
struct log_cosh : sc::own_metric<log_cosh> {
  static constexpr std::string_view name = "log_cosh";
  constexpr auto call(auto target, auto output) const {
    auto const error = output - target;
    return error + softplus(error * -2.0F) - 0.693147181F;
  }
};

/// Of a row as a whole, of class numbers or of targets for each output.
struct distance : sc::own_metric<distance> {
  float power;
  constexpr explicit distance(float power_ = 2) : power(power_) {}
  constexpr auto call(auto& ops, auto target, auto output) const {
    return pow(ops.sum(pow(abs(output - target), power), -1), 1 / power);
  }
};
/// What is predicted of the class.
struct share_of_class : sc::own_metric<share_of_class> {
  constexpr auto call(auto& ops, auto target, auto output) const {
    return ops.sum(output * equal(ops.iota(output.shape()), target), -1);
  }
};

/// Keras's F1Score of one threshold.
struct f1 : sc::own_metric<f1> {
  static constexpr std::string_view name = "f1";
  constexpr auto call(auto& ops, auto target, auto output) const {
    auto const taken = output > 0.5F;
    return ops.concatenate({ops.sum(target * taken, -1), ops.sum(target + taken, -1)});
  }
  constexpr double result(sc::metric_sums const& sums) const { return sums[1] != 0 ? 2 * sums[0] / sums[1] : 0; }
};
static_assert(sc::metrics::metric(f1{}).name() == "f1");

}  // namespace

TEST_CASE("the mean of nothing is 0, a weighted mean is one") {
  sc::trainers::running_mean mean;
  CHECK(mean.result() == 0);
  mean.add(2, 32);
  mean.add(5, 16);
  CHECK(mean.result() == doctest::Approx(3));
  mean.reset();
  CHECK(mean.result() == 0);
}

TEST_CASE("sparse categorical accuracy takes the first of equal maxima") {
  sc::trainers::metric_state<sc::metrics::accuracy{}, true, 3> state;
  static_assert(state.resolved.kind == sc::metrics::metric_kind::sparse_categorical_accuracy);
  float const predictions[] = {1, 2, 2, 1, 2, 2, 3, 0, 3, 0, 0, 9};
  std::int32_t const labels[] = {1, 2, 0, 2};
  state.update(predictions, labels, 4);
  CHECK(state.result() == doctest::Approx(0.75));
}

// TensorFlow's argmax passes over NaN, and gives 0 for rows without any number that is finite or +infinity.
TEST_CASE("rows with NaN") {
  float const nan = std::numeric_limits<float>::quiet_NaN();
  float const infinity = std::numeric_limits<float>::infinity();
  auto const score = [&](std::array<float, 3> const& prediction, std::int32_t label) {
    sc::trainers::metric_state<sc::metrics::accuracy{}, true, 3> state;
    state.update(prediction.data(), &label, 1);
    // The same with the row as a target whose largest column is compared.
    sc::trainers::metric_state<sc::metrics::categorical_accuracy{}, false, 3> of_rows;
    std::array<float, 3> one_hot{};
    one_hot[static_cast<std::size_t>(label)] = 1;
    of_rows.update(one_hot.data(), prediction.data(), 1);
    CHECK(of_rows.result() == state.result());
    return state.result();
  };
  CHECK(score({nan, 2, 1}, 1) == 1);
  CHECK(score({nan, 2, 1}, 0) == 0);
  CHECK(score({2, nan, 1}, 0) == 1);
  CHECK(score({nan, nan, nan}, 0) == 1);
  CHECK(score({nan, nan, nan}, 2) == 0);
  CHECK(score({nan, -infinity, -infinity}, 0) == 1);
  CHECK(score({nan, -infinity, -infinity}, 1) == 0);
  CHECK(score({nan, 1, infinity}, 2) == 1);

  // NaN in a target: no accuracy is spoilt, a mean is, whatever the weight of its row.
  float const zeros[]{0, 0}, targets[]{nan, 0}, weights[]{0, 1};
  sc::trainers::metric_state<sc::metrics::mean_absolute_error{}, false, 1> error;
  error.update(zeros, targets, 2, weights);
  CHECK(std::isnan(error.result()));
  sc::trainers::metric_state<sc::metrics::binary_accuracy{}, false, 1> binary;
  binary.update(zeros, targets, 2);
  CHECK(binary.result() == 0.5);
}

TEST_CASE("categorical accuracy compares argmax with argmax") {
  sc::trainers::metric_state<sc::metrics::accuracy{}, false, 3> state;
  float const predictions[] = {0.1f, 0.7f, 0.2f, 0.5f, 0.3f, 0.2f};
  float const targets[] = {0, 1, 0, 0, 0.4f, 0.6f};
  state.update(predictions, targets, 2);
  CHECK(state.result() == doctest::Approx(0.5));
}

TEST_CASE("binary accuracy is a mean over the columns") {
  sc::trainers::metric_state<sc::metrics::binary_accuracy{}, false, 2> state;
  float const predictions[] = {0.5f, 0.51f, 0.9f, 0.1f};
  float const targets[] = {0, 1, 0, 0};
  state.update(predictions, targets, 2);
  CHECK(state.result() == doctest::Approx(0.75));

  sc::trainers::metric_state<sc::metrics::accuracy{}, false, 1> width_one;
  static_assert(width_one.resolved == sc::metrics::metric(sc::metrics::binary_accuracy{}));
  width_one.update(predictions, targets, 4);
  CHECK(width_one.result() == doctest::Approx(0.75));
  width_one.reset();
  std::int32_t const labels[] = {0, 1, 0, 0};
  width_one.update(predictions, labels, 4);
  CHECK(width_one.result() == doctest::Approx(0.75));
}

TEST_CASE("squared and absolute errors, over several batches") {
  sc::trainers::metric_state<sc::metrics::mean_squared_error{}, false, 2> squared;
  sc::trainers::metric_state<sc::metrics::mean_absolute_error{}, false, 2> absolute;
  float const predictions[] = {1, 2, 3, 4, 5, 7};
  float const targets[] = {0, 0, 3, 5, 5, 4};
  auto const update = [&](auto& state) {
    state.update(predictions, targets, 2);
    state.update(predictions + 4, targets + 4, 1);
  };
  update(squared);
  update(absolute);
  CHECK(squared.result() == doctest::Approx((2.5 + 0.5 + 4.5) / 3));
  CHECK(absolute.result() == doctest::Approx((1.5 + 0.5 + 1.5) / 3));
}

TEST_CASE("top k: ties count as inside, values that are not finite never do") {
  sc::trainers::metric_state<sc::metrics::sparse_top_k_categorical_accuracy{.k = 2}, true, 4> state;
  float const inf = std::numeric_limits<float>::infinity();
  float const predictions[] = {4, 3, 3, 1, 4, 3, 3, 1, 4, 3, 3, 1, inf, 3, 2, 1};
  std::int32_t const labels[] = {1, 2, 3, 1};
  state.update(predictions, labels, 4);
  CHECK(state.result() == doctest::Approx(0.5));

  sc::trainers::metric_state<sc::metrics::top_k_categorical_accuracy{.k = 2}, false, 4> dense;
  float const targets[] = {0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 1, 0, 0};
  dense.update(predictions, targets, 4);
  CHECK(dense.result() == doctest::Approx(0.5));
}

TEST_CASE("weighted metrics weight their rows, labels that do not exist are wrong") {
  sc::trainers::metric_state<sc::metrics::accuracy{}, true, 2> state;
  float const predictions[] = {0, 1, 1, 0};
  std::int32_t const labels[] = {1, 1};
  float const weights[] = {3, 1};
  state.update(predictions, labels, 2, weights);
  CHECK(state.result() == doctest::Approx(0.75));
  std::int32_t const foreign[] = {-1, 2};
  state.reset();
  state.update(predictions, foreign, 2);
  CHECK(state.result() == 0);
}

TEST_CASE("metrics of one's own") {
  float const predictions[] = {1, 2, 3, 4, 5, 7};
  float const targets[] = {0, 0, 3, 5, 5, 4};
  float const weights[] = {3, 0.5F, 0.5F};
  auto const log_cosh_of = [](double x) { return std::log(std::cosh(x)); };
  sc::trainers::metric_state<log_cosh{}, false, 2> of_elements;
  of_elements.update(predictions, targets, 3);
  CHECK(of_elements.result() ==
        doctest::Approx((log_cosh_of(1) + log_cosh_of(2) + log_cosh_of(-1) + log_cosh_of(3)) / 6));
  of_elements.reset();
  of_elements.update(predictions, targets, 3, weights, 2);
  CHECK(of_elements.result() ==
        doctest::Approx((6 * (log_cosh_of(1) + log_cosh_of(2)) + log_cosh_of(-1) + log_cosh_of(3)) / 2 / 8));

  sc::trainers::metric_state<distance{}, false, 2> of_rows;
  sc::trainers::metric_state<distance{1.0F}, false, 3> of_long_rows;
  of_rows.update(predictions, targets, 3);
  of_long_rows.update(predictions, targets, 2);
  CHECK(of_rows.result() == doctest::Approx((std::sqrt(5.0) + 1 + 3) / 3));
  CHECK(of_long_rows.result() == doctest::Approx((3.0 + 4.0) / 2));

  sc::trainers::metric_state<share_of_class{}, true, 3> of_classes;
  std::int32_t const labels[] = {2, 0};
  of_classes.update(predictions, labels, 2);
  CHECK(of_classes.result() == doctest::Approx((3.0 + 4.0) / 2));
}

TEST_CASE("metrics agree with Keras, batch after batch, with weights and without, and of two replicas") {
  auto const file = golden::read("metric_table.txt");
  laws::with_metrics([&]<sc::metrics::metric Metric, int Columns>(std::string const& data, std::string const& name) {
    CAPTURE(data);
    CAPTURE(name);
    constexpr bool sparse = Metric.targets == sc::metrics::metric_targets::classes;
    constexpr sc::shape sample = Metric.along > 0 ? sc::shape(3, 2) : sc::shape{};
    using state_type = sc::trainers::metric_state<Metric, sparse, Columns, sample>;
    state_type state, weighted, replicas[2];
    CHECK(state.result() == 0);
    for (int batch = 0; batch < 3; ++batch) {
      CAPTURE(batch);
      auto const of = [&](char const* what) -> auto const& {
        return file[data + "/" + what + "_" + std::to_string(batch)].values;
      };
      auto const rows = static_cast<int>(of("prediction").size()) / Columns;
      std::conditional_t<sparse, std::vector<std::int32_t>, std::vector<float>> const targets(of("target").begin(),
                                                                                              of("target").end());
      state.update(of("prediction").data(), targets.data(), rows);
      weighted.update(of("prediction").data(), targets.data(), rows, of("sample_weight").data());
      replicas[batch % 2].update(of("prediction").data(), targets.data(), rows);
      auto const at = static_cast<std::size_t>(batch);
      CHECK(state.result() == doctest::Approx(file[data + "/" + name][at]).epsilon(3e-6));
      CHECK(weighted.result() == doctest::Approx(file["weighted/" + data + "/" + name][at]).epsilon(3e-6));
    }
    replicas[0].merge(replicas[1]);
    CHECK(replicas[0].result() == doctest::Approx(state.result()).epsilon(1e-12));
    state.reset();
    CHECK(state.result() == 0);
  });
}

TEST_CASE("a metric of one's own that is no mean") {
  constexpr int rows = 70;
  std::vector<float> predictions, targets, weights;
  double found = 0, all = 0, weighted_found = 0, weighted_all = 0;
  for (int i = 0; i < 3 * rows; ++i) {
    predictions.push_back(static_cast<float>(i * 37 % 100) / 100);
    targets.push_back(static_cast<float>(i * 13 % 3 == 0));
    if (i % 3 == 0) weights.push_back(static_cast<float>(i % 4));
    float const hit = predictions.back() > 0.5F ? 1.0F : 0.0F;
    found += static_cast<double>(hit * targets.back());
    all += static_cast<double>(hit + targets.back());
    weighted_found += static_cast<double>(weights.back() * hit * targets.back());
    weighted_all += static_cast<double>(weights.back() * (hit + targets.back()));
  }
  sc::trainers::metric_state<f1{}, false, 3> state, weighted;
  state.update(predictions.data(), targets.data(), rows);
  weighted.update(predictions.data(), targets.data(), rows, weights.data());
  CHECK(state.result() == doctest::Approx(2 * found / all));
  CHECK(weighted.result() == doctest::Approx(2 * weighted_found / weighted_all));
}

TEST_CASE("class numbers as targets of yes/no metrics, and classes of rows") {
  float const predictions[] = {0.1F, 0.7F, 0.2F, 0.6F, 0.3F, 0.1F, 0.2F, 0.2F, 0.6F};
  std::int32_t const labels[] = {1, 2, 2};
  sc::trainers::metric_state<sc::metrics::precision{}, true, 3> precision;
  precision.update(predictions, labels, 3);
  CHECK(precision.result() == doctest::Approx(2.0 / 3));
  sc::trainers::metric_state<sc::metrics::mean_io_u{.num_classes = 3}, true, 3> overlap;
  overlap.update(predictions, labels, 3);
  CHECK(overlap.result() == doctest::Approx((0.0 + 1.0 + 0.5) / 3));
  static_assert(!fits_targets(sc::metrics::kl_divergence{}, true, 3) &&
                fits_targets(sc::metrics::kl_divergence{}, false, 3) &&
                fits_targets(sc::metrics::precision{}, true, 3) &&
                !fits_targets(sc::metrics::sparse_categorical_crossentropy{}, false, 3));
}
