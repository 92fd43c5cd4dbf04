// SPDX-License-Identifier: BSD-3-Clause
// Metrics that count right and wrong yes/no predictions at thresholds: how they count, the counts, precision and
// recall. Keras counterpart: TruePositives and the like of tf.keras.metrics;
// metrics_utils.update_confusion_matrix_variables.
#pragma once

#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/metrics/metric.hpp>

namespace stagecraft::metrics::detail {

enum class threshold_spacing : int {
  one,          ///< a single threshold
  even,         ///< evenly spaced from 0 to 1
  even_beyond,  ///< evenly spaced, from a little below 0 to a little above 1
  given,        ///< the metric's `numbers`, in ascending order, between these two ends
};

/// Options of counting, as words of a metric's options.
struct confusion_options {
  int count = 1;  ///< number of thresholds
  /// The spacing of the thresholds.
  threshold_spacing spacing = threshold_spacing::one;
  float threshold = 0.5F;  ///< the threshold, if there is one
  int class_id = -1;       ///< the only column that counts, or -1
  int per_label = 0;       ///< 1: columns are counted apart, and the metric is their mean
  int from_logits = 0;     ///< 1: the sigmoid of predictions counts
  float value = 0;         ///< the least rate that the metric asks for
  int curve = 0;           ///< for auc: its curve, plus 4 times its summation method

  /// Number of thresholds among the metric's `numbers`; weights of labels follow them.
  [[nodiscard]] constexpr int given() const noexcept { return spacing == threshold_spacing::given ? count - 2 : 0; }
  [[nodiscard]] constexpr float at(int index, number_list const& numbers) const noexcept {
    constexpr float beyond = 1e-7F;
    if (spacing == threshold_spacing::one || count == 1) return spacing == threshold_spacing::one ? threshold : 0.5F;
    bool const is_beyond = spacing != threshold_spacing::even;
    if (index == 0) return is_beyond ? -beyond : 0.0F;
    if (index == count - 1) return is_beyond ? 1 + beyond : 1.0F;
    if (spacing == threshold_spacing::given) return numbers.numbers[index - 1];
    return static_cast<float>(static_cast<double>(index) / (count - 1));
  }
};

/// Counts of one label, or of all: predictions above each threshold are positive.
struct confusion {
  confusion_options options;
  tracing::array_view<double const> counts;  ///< true positives, false positives, true negatives, false negatives

  [[nodiscard]] constexpr int size() const { return options.count; }
  [[nodiscard]] constexpr double true_positives(int i = 0) const { return count(0, i); }
  [[nodiscard]] constexpr double false_positives(int i = 0) const { return count(1, i); }
  [[nodiscard]] constexpr double true_negatives(int i = 0) const { return count(2, i); }
  [[nodiscard]] constexpr double false_negatives(int i = 0) const { return count(3, i); }

  [[nodiscard]] constexpr double precision(int i = 0) const {
    return ratio(true_positives(i), true_positives(i) + false_positives(i));
  }
  /// The share of a class that is found; it is also called sensitivity.
  [[nodiscard]] constexpr double recall(int i = 0) const {
    return ratio(true_positives(i), true_positives(i) + false_negatives(i));
  }
  [[nodiscard]] constexpr double specificity(int i = 0) const {
    return ratio(true_negatives(i), true_negatives(i) + false_positives(i));
  }
  /// The largest `wanted` at those thresholds where `constrained`, as a float, is at least the metric's value; 0 if
  /// there are none.
  template <class Constrained, class Wanted>
  [[nodiscard]] constexpr double largest_where(Constrained const& constrained, Wanted const& wanted) const {
    double best = 0;
    for (int i = 0; i < size(); ++i)
      if (static_cast<float>(constrained(i)) >= options.value && wanted(i) > best) best = wanted(i);
    return best;
  }

 private:
  [[nodiscard]] constexpr double count(int kind, int i) const { return counts[kind * options.count + i]; }
};

template <class Metric>
struct result_of_confusion {
  static double call(diagnostics::own_options const& options, metric_sums const& sums) {
    return Metric::result(confusion{stagecraft::detail::own_from<confusion_options>(options), sums.values});
  }
  static constexpr metric_result value{Metric::name, &call};
};

/// A metric whose `result` makes a number of what is counted.
template <class Metric>
constexpr metric metric_of_confusion(confusion_options const& options, int top_k = 0) {
  return {.kind = metric_kind::confusion,
          .k = top_k,
          .options = stagecraft::detail::words_of(options),
          .result = &result_of_confusion<Metric>::value};
}

/// A threshold below every prediction, as Keras has it.
inline constexpr float no_threshold = -1e10F;

/// The metric at each of some thresholds. Keras's default is 0.5, or no threshold with `top_k`.
template <class Metric>
constexpr metric metric_at_thresholds(number_list const& thresholds, int top_k = 0, int class_id = -1) {
  float const of_none = top_k > 0 ? no_threshold : 0.5F;
  metric result = metric_of_confusion<Metric>(
      {.threshold = thresholds.empty() ? of_none : thresholds.numbers[0], .class_id = class_id}, top_k);
  if (thresholds.count > 1) {
    result.numbers = thresholds;
    result.parts = thresholds.kept();
  }
  return result;
}

/// The metric at one of its thresholds.
constexpr metric part_of(metric whole, int index) {
  auto options = stagecraft::detail::own_from<confusion_options>(whole.options);
  options.threshold = whole.numbers.numbers[index];
  whole.options = stagecraft::detail::words_of(options);
  if (!whole.numbers.is_too_long()) whole.numbers = {};  // otherwise E1102 reports their number
  whole.parts = 0;
  return whole;
}

}  // namespace stagecraft::metrics::detail

namespace stagecraft::metrics {

/// Number of positive predictions that are right. Keras: tf.keras.metrics.TruePositives.
/// It is the sum of the weights of positive predictions that are right: the numbers of all columns are yes/no
/// predictions, and targets other than 0 mean yes.
struct true_positives {
  number_list thresholds = 0.5F;  ///< predictions above it are positive; a list reports one number for each

  static constexpr std::string_view name = "true_positives";

  constexpr operator metric() const noexcept { return detail::metric_at_thresholds<true_positives>(thresholds); }
  static constexpr double result(detail::confusion const& counted) { return counted.true_positives(); }
};

/// Number of negative predictions that are right. Keras: tf.keras.metrics.TrueNegatives.
/// It is the sum of the weights of negative predictions that are right: the numbers of all columns are yes/no
/// predictions, and targets other than 0 mean yes.
struct true_negatives {
  number_list thresholds = 0.5F;  ///< predictions above it are positive; a list reports one number for each

  static constexpr std::string_view name = "true_negatives";

  constexpr operator metric() const noexcept { return detail::metric_at_thresholds<true_negatives>(thresholds); }
  static constexpr double result(detail::confusion const& counted) { return counted.true_negatives(); }
};

/// Number of positive predictions that are wrong. Keras: tf.keras.metrics.FalsePositives.
/// It is the sum of the weights of positive predictions that are wrong: the numbers of all columns are yes/no
/// predictions, and targets other than 0 mean yes.
struct false_positives {
  number_list thresholds = 0.5F;  ///< predictions above it are positive; a list reports one number for each

  static constexpr std::string_view name = "false_positives";

  constexpr operator metric() const noexcept { return detail::metric_at_thresholds<false_positives>(thresholds); }
  static constexpr double result(detail::confusion const& counted) { return counted.false_positives(); }
};

/// Number of negative predictions that are wrong. Keras: tf.keras.metrics.FalseNegatives.
/// It is the sum of the weights of negative predictions that are wrong: the numbers of all columns are yes/no
/// predictions, and targets other than 0 mean yes.
struct false_negatives {
  number_list thresholds = 0.5F;  ///< predictions above it are positive; a list reports one number for each

  static constexpr std::string_view name = "false_negatives";

  constexpr operator metric() const noexcept { return detail::metric_at_thresholds<false_negatives>(thresholds); }
  static constexpr double result(detail::confusion const& counted) { return counted.false_negatives(); }
};

/// The share of positive predictions that are right. Keras: tf.keras.metrics.Precision.
/// true positives / (true positives + false positives), or 0; targets other than 0 mean yes.
struct precision {
  /// Predictions above it are positive; the default is 0.5, or no threshold with `top_k`. A list reports one number for
  /// each.
  number_list thresholds = {};
  int top_k = 0;      ///< only the k largest predictions of a row can be positive; 0: all
  int class_id = -1;  ///< the only column that counts; -1: all count

  static constexpr std::string_view name = "precision";

  constexpr operator metric() const noexcept {
    return detail::metric_at_thresholds<precision>(thresholds, top_k, class_id);
  }
  static constexpr double result(detail::confusion const& counted) { return counted.precision(); }
};

/// The share of the positive targets that is found. Keras: tf.keras.metrics.Recall.
/// true positives / (true positives + false negatives), or 0; targets other than 0 mean yes.
struct recall {
  /// Predictions above it are positive; the default is 0.5, or no threshold with `top_k`. A list reports one number for
  /// each.
  number_list thresholds = {};
  int top_k = 0;      ///< only the k largest predictions of a row can be positive; 0: all
  int class_id = -1;  ///< the only column that counts; -1: all count

  static constexpr std::string_view name = "recall";

  constexpr operator metric() const noexcept {
    return detail::metric_at_thresholds<recall>(thresholds, top_k, class_id);
  }
  static constexpr double result(detail::confusion const& counted) { return counted.recall(); }
};

}  // namespace stagecraft::metrics
