// SPDX-License-Identifier: BSD-3-Clause
#include <stagecraft/description/training_checks.hpp>
#include <stagecraft/metrics/metrics.hpp>

#include <doctest/doctest.h>

#include <vector>

namespace sc = stagecraft;
using sc::metrics::metric;
using sc::metrics::metric_kind;
using sc::metrics::metric_list;

template <metric_list List>
struct takes_metrics {
  static constexpr int count = List.count;
};

// Names are the ones in Keras's logs.
static_assert(sc::metrics::accuracy::name == "accuracy");
static_assert(sc::metrics::sparse_categorical_accuracy::name == "sparse_categorical_accuracy");
static_assert(metric(sc::metrics::mean_absolute_error{}).name() == "mean_absolute_error");
static_assert(metric(sc::metrics::mean_squared_error{}).name() == sc::metrics::mean_squared_error::name);
static_assert(metric(sc::metrics::binary_accuracy{}).name() == sc::metrics::binary_accuracy::name);
static_assert(metric(sc::metrics::categorical_accuracy{}).name() == sc::metrics::categorical_accuracy::name);
static_assert(metric(sc::metrics::top_k_categorical_accuracy{}).name() == "top_k_categorical_accuracy");
static_assert(metric(sc::metrics::sparse_top_k_categorical_accuracy{}).name() == "sparse_top_k_categorical_accuracy");
static_assert(metric(sc::metrics::kld{}).name() == "kld" && metric(sc::metrics::mape{}).name() == "mape" &&
              metric(sc::metrics::msle{}).name() == "msle");
static_assert(sc::metrics::named<"auprc">(sc::metrics::auc{.curve = sc::metrics::auc_curve::pr}).name() == "auprc" &&
              sc::metrics::named<"a">(sc::metrics::mae{}) == sc::metrics::named<"a">(sc::metrics::mae{}) &&
              sc::metrics::named<"a">(sc::metrics::mae{}) != metric(sc::metrics::mae{}));
static_assert(metric(sc::metrics::mae{}).name() == "mae" && metric(sc::metrics::mse{}).name() == "mse");
static_assert(metric(sc::metrics::acc{}).name() == "acc" && resolve(sc::metrics::acc{}, true, 10).name() != "acc");

// E1102: thresholds are probabilities, one of several as well; with `top_k` there is none.
constexpr bool is_refused(metric const& of) {
  sc::diagnostics::diagnostic problem;
  sc::detail::check_numbers_of_metric(of, "y", 3, problem);
  return problem.failed();
}
static_assert(is_refused(sc::metrics::precision{.thresholds = -1}) &&
              is_refused(sc::metrics::recall{.thresholds = 1.5F}));
static_assert(!is_refused(sc::metrics::recall{.thresholds = 1}) && !is_refused(sc::metrics::precision{.top_k = 1}));

// `accuracy` is chosen by output width first, then by the targets, and keeps its name.
constexpr metric accuracy = sc::metrics::accuracy{};
static_assert(resolve(accuracy, false, 1) == metric(sc::metrics::binary_accuracy{}));
static_assert(resolve(accuracy, true, 1) == metric(sc::metrics::binary_accuracy{}));
static_assert(resolve(accuracy, true, 10).kind == metric_kind::sparse_categorical_accuracy);
static_assert(resolve(accuracy, false, 10).kind == metric_kind::categorical_accuracy);
static_assert(accuracy.name() == "accuracy");
static_assert(resolve(sc::metrics::mean_squared_error{}, true, 10) == sc::metrics::mean_squared_error{});
static_assert(metric(sc::metrics::mean_squared_error{}) != metric(sc::metrics::mse{}));

// Which metrics can be computed from which targets.
static_assert(fits_targets(accuracy, true, 10) && fits_targets(accuracy, false, 10));
static_assert(!fits_targets(sc::metrics::mean_squared_error{}, true, 10));
static_assert(!fits_targets(sc::metrics::sparse_categorical_accuracy{}, false, 10));
static_assert(!fits_targets(sc::metrics::categorical_accuracy{}, true, 10));
static_assert(fits_targets(sc::metrics::mean_squared_error{}, false, 1));

// Options travel, with Keras's defaults.
static_assert(metric(sc::metrics::top_k_categorical_accuracy{.k = 3}).k == 3);
static_assert(metric(sc::metrics::sparse_top_k_categorical_accuracy{}).k == 5);
static_assert(metric(sc::metrics::binary_accuracy{.threshold = 0.25f}) != metric(sc::metrics::binary_accuracy{}));
static_assert(sc::metrics::binary_accuracy{}.threshold == 0.5f);

// A list is made from one metric or from several, and is a template argument.
constexpr metric_list one = sc::metrics::accuracy{};
constexpr metric_list two = {sc::metrics::accuracy{}, sc::metrics::top_k_categorical_accuracy{.k = 3}};
static_assert(metric_list{}.size() == 0 && one.size() == 1 && two.size() == 2);
static_assert(two[1].k == 3 && two.end() - two.begin() == 2);
static_assert(takes_metrics<two>::count == 2 && one != two);

TEST_CASE("lists of metrics iterate in order") {
  int count = 0;
  for (metric const& item : two) CHECK(item == two[count++]);
  CHECK(count == 2);
}

// A column of a matrix, which has `data` and `size` but no neighbours, is not read as if it had.
struct column {
  std::vector<float> of;
  [[nodiscard]] float const* data() const { return of.data(); }
  [[nodiscard]] std::size_t size() const { return of.size() / 2; }
};
template <class Values>
concept HasMean = requires(sc::metrics::mean mean, Values const& values) { mean.update_state(values); };
static_assert(HasMean<std::vector<float>> && HasMean<float[2]> && HasMean<float> && HasMean<int>);
static_assert(!HasMean<column> && !HasMean<std::vector<double>>);

TEST_CASE("numbers and tensors that come one after the other") {
  std::vector<float> const values{1, 3, 5, 7}, weights{1, 1, 0, 0};
  sc::metrics::mean mean;
  sc::metrics::sum sum;
  sc::metrics::mean_tensor tensor;
  CHECK(mean.result() == 0);
  CHECK(tensor.result().empty());
  mean.update_state(values);
  sum.update_state(values);
  tensor.update_state(values);
  CHECK(mean.result() == 4);
  CHECK(sum.result() == 16);
  mean.update_state(10, 2);
  sum.update_state(values, weights);
  tensor.update_state(std::vector<float>{4, 0, 2, 1}, 3);
  CHECK(mean.result() == 6);
  CHECK(sum.result() == 20);
  CHECK(tensor.result() == std::vector{3.25, 0.75, 2.75, 2.5});
  mean.reset_state();
  sum.reset_state();
  tensor.reset_state();
  mean.update_state(values, weights);
  CHECK(mean.result() == 2);
  CHECK(sum.result() == 0);
  CHECK(tensor.result().empty());
}
