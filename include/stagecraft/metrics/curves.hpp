// SPDX-License-Identifier: BSD-3-Clause
// Metrics that look at many thresholds at once: the area under a curve, and the best value that leaves enough of
// another. Keras counterpart: AUC, PrecisionAtRecall and the like of tf.keras.metrics.
#pragma once

#include <stagecraft/metrics/confusion.hpp>

namespace stagecraft::metrics {

/// The curve: true against false positive rates, or precision against recall.
enum class auc_curve : int { roc, pr };
/// The summation of the area: by trapezoids (for `pr` by interpolated true positives), or by the lower or upper sum.
enum class auc_summation_method : int { interpolation, minoring, majoring };

/// The area under a curve of right against wrong predictions. Keras: tf.keras.metrics.AUC. The curve has a point at
/// each of the thresholds from a little below 0 to a little above 1. Predictions are probabilities; targets other than
/// 0 mean yes. Source: Davis and Goadrich, "The Relationship Between Precision-Recall and ROC Curves".
struct auc {
  int num_thresholds = 200;          ///< number of thresholds, at least 2
  auc_curve curve = auc_curve::roc;  ///< the rates that the curve relates
  /// The summation of the area.
  auc_summation_method summation_method = auc_summation_method::interpolation;
  number_list thresholds = {};     ///< between 0 and 1, in place of `num_thresholds`, in any order
  bool multi_label = false;        ///< true: each column is a label, and the metric is the mean of their areas
  number_list label_weights = {};  ///< weights of columns in that mean or, without `multi_label`, in the counts. E1102
  bool from_logits = false;        ///< true: the sigmoid of predictions counts

  static constexpr std::string_view name = "auc";

  constexpr operator metric() const noexcept {
    bool const given = !thresholds.empty();
    metric result = detail::metric_of_confusion<auc>(
        {.count = given ? thresholds.count + 2 : num_thresholds,
         .spacing = given ? detail::threshold_spacing::given : detail::threshold_spacing::even_beyond,
         .per_label = multi_label ? 1 : 0,
         .from_logits = from_logits ? 1 : 0,
         .curve = static_cast<int>(curve) + 4 * static_cast<int>(summation_method)});
    result.numbers = thresholds;
    result.numbers.sort();
    for (float const weight : label_weights) result.numbers.append(weight);
    result.numbers.count = thresholds.count + label_weights.count;
    return result;
  }
  static double result(detail::confusion const& at) {
    bool const is_roc = at.options.curve % 4 == static_cast<int>(auc_curve::roc);
    auto const method = static_cast<auc_summation_method>(at.options.curve / 4);
    double area = 0;
    for (int i = 0; i + 1 < at.size(); ++i) {
      if (!is_roc && method == auc_summation_method::interpolation) {
        area += interpolated(at, i);
        continue;
      }
      double const x = is_roc ? 1 - at.specificity(i) : at.recall(i);
      double const next_x = is_roc ? 1 - at.specificity(i + 1) : at.recall(i + 1);
      double const y = is_roc ? at.recall(i) : at.precision(i),
                   next_y = is_roc ? at.recall(i + 1) : at.precision(i + 1);
      double const lower = y < next_y ? y : next_y, upper = y < next_y ? next_y : y;
      area += (x - next_x) * (method == auc_summation_method::interpolation ? (y + next_y) / 2
                              : method == auc_summation_method::minoring    ? lower
                                                                            : upper);
    }
    return area;
  }

 private:
  /// The area from one threshold to the next, where true positives grow linearly with the positives.
  static double interpolated(detail::confusion const& at, int i) {
    double const found = at.true_positives(i) - at.true_positives(i + 1);
    double const positives = at.true_positives(i) + at.false_positives(i);
    double const next = at.true_positives(i + 1) + at.false_positives(i + 1);
    double const slope = detail::ratio(found, positives > next ? positives - next : 0);
    double const intercept = at.true_positives(i + 1) - slope * next;
    double const quotient = positives > 0 && next > 0 ? positives / next : 1;
    return detail::ratio(slope * (found + intercept * __builtin_log(quotient)),
                         at.true_positives(i + 1) + at.false_negatives(i + 1));
  }
};

/// The best precision that leaves enough recall. Keras: tf.keras.metrics.PrecisionAtRecall.
/// The largest precision at a threshold where the recall is at least `recall`; 0 if there is none. Predictions are
/// probabilities; targets other than 0 mean yes.
struct precision_at_recall {
  float recall = 0.5F;       ///< from 0 to 1
  int num_thresholds = 200;  ///< from 0 to 1, evenly spaced; if one, 0.5
  int class_id = -1;         ///< the only column that counts; -1: all count

  static constexpr std::string_view name = "precision_at_recall";

  constexpr operator metric() const noexcept {
    return detail::metric_of_confusion<precision_at_recall>(
        {.count = num_thresholds, .spacing = detail::threshold_spacing::even, .class_id = class_id, .value = recall});
  }
  static constexpr double result(detail::confusion const& counted) {
    return counted.largest_where([&](int i) { return counted.recall(i); }, [&](int i) { return counted.precision(i); });
  }
};

/// The best recall that leaves enough precision. Keras: tf.keras.metrics.RecallAtPrecision.
/// The largest recall at a threshold where the precision is at least `precision`; 0 if there is none. Predictions are
/// probabilities; targets other than 0 mean yes.
struct recall_at_precision {
  float precision = 0.5F;    ///< from 0 to 1
  int num_thresholds = 200;  ///< from 0 to 1, evenly spaced; if one, 0.5
  int class_id = -1;         ///< the only column that counts; -1: all count

  static constexpr std::string_view name = "recall_at_precision";

  constexpr operator metric() const noexcept {
    return detail::metric_of_confusion<recall_at_precision>({.count = num_thresholds,
                                                             .spacing = detail::threshold_spacing::even,
                                                             .class_id = class_id,
                                                             .value = precision});
  }
  static constexpr double result(detail::confusion const& counted) {
    return counted.largest_where([&](int i) { return counted.precision(i); }, [&](int i) { return counted.recall(i); });
  }
};

/// The best sensitivity that leaves enough specificity. Keras: tf.keras.metrics.SensitivityAtSpecificity.
/// The largest sensitivity (recall) at a threshold where the specificity is at least `specificity`; 0 if there is none.
/// Predictions are probabilities; targets other than 0 mean yes.
struct sensitivity_at_specificity {
  float specificity = 0.5F;  ///< from 0 to 1
  int num_thresholds = 200;  ///< from 0 to 1, evenly spaced; if one, 0.5
  int class_id = -1;         ///< the only column that counts; -1: all count

  static constexpr std::string_view name = "sensitivity_at_specificity";

  constexpr operator metric() const noexcept {
    return detail::metric_of_confusion<sensitivity_at_specificity>({.count = num_thresholds,
                                                                    .spacing = detail::threshold_spacing::even,
                                                                    .class_id = class_id,
                                                                    .value = specificity});
  }
  static constexpr double result(detail::confusion const& counted) {
    return counted.largest_where([&](int i) { return counted.specificity(i); },
                                 [&](int i) { return counted.recall(i); });
  }
};

/// The best specificity that leaves enough sensitivity. Keras: tf.keras.metrics.SpecificityAtSensitivity.
/// The largest specificity at a threshold where the sensitivity (recall) is at least `sensitivity`; 0 if there is none.
/// Predictions are probabilities; targets other than 0 mean yes.
struct specificity_at_sensitivity {
  float sensitivity = 0.5F;  ///< from 0 to 1
  int num_thresholds = 200;  ///< from 0 to 1, evenly spaced; if one, 0.5
  int class_id = -1;         ///< the only column that counts; -1: all count

  static constexpr std::string_view name = "specificity_at_sensitivity";

  constexpr operator metric() const noexcept {
    return detail::metric_of_confusion<specificity_at_sensitivity>({.count = num_thresholds,
                                                                    .spacing = detail::threshold_spacing::even,
                                                                    .class_id = class_id,
                                                                    .value = sensitivity});
  }
  static constexpr double result(detail::confusion const& counted) {
    return counted.largest_where([&](int i) { return counted.recall(i); },
                                 [&](int i) { return counted.specificity(i); });
  }
};

}  // namespace stagecraft::metrics
