// SPDX-License-Identifier: BSD-3-Clause
// Metrics that are no accuracies, under the names of their data and results in metric_table.txt: what tests walk.
#pragma once

#include <stagecraft/metrics/metrics.hpp>

namespace laws {

/// Calls check<metric, columns>(data, name) for each of them.
void with_metrics(auto const& check) {
  using namespace stagecraft::metrics;
  using enum auc_curve;
  using enum auc_summation_method;
  check.template operator()<auc{}, 1>("yes_no", "auc");
  check.template operator()<auc{.num_thresholds = 21, .summation_method = minoring}, 1>("yes_no", "auc_minoring");
  check.template operator()<auc{.num_thresholds = 21, .summation_method = majoring}, 1>("yes_no", "auc_majoring");
  check.template operator()<auc{.curve = pr}, 1>("yes_no", "auc_pr");
  check.template operator()<auc{.num_thresholds = 21, .curve = pr, .summation_method = minoring}, 1>("yes_no",
                                                                                                     "auc_pr_minoring");
  check.template operator()<auc{.thresholds = {0.8F, 0.2F, 0.3F, 0.55F}}, 1>("yes_no", "auc_thresholds");
  check.template operator()<auc{.from_logits = true}, 1>("yes_no", "auc_logits");
  check.template operator()<precision{}, 1>("yes_no", "precision");
  check.template operator()<precision{.thresholds = 0.3F}, 1>("yes_no", "precision_threshold");
  check.template operator()<detail::part_of(precision{.thresholds = {0.7F, 0.3F}}, 0), 1>("yes_no",
                                                                                          "precision_of_threshold_0");
  check.template operator()<detail::part_of(true_positives{.thresholds = {0.2F, 0.6F}}, 1), 1>(
      "yes_no", "true_positives_of_threshold_1");
  check.template operator()<recall{}, 1>("yes_no", "recall");
  check.template operator()<true_positives{}, 1>("yes_no", "true_positives");
  check.template operator()<false_positives{.thresholds = 0.3F}, 1>("yes_no", "false_positives");
  check.template operator()<true_negatives{}, 1>("yes_no", "true_negatives");
  check.template operator()<false_negatives{}, 1>("yes_no", "false_negatives");
  check.template operator()<precision_at_recall{.recall = 0.6F}, 1>("yes_no", "precision_at_recall");
  check.template operator()<recall_at_precision{.precision = 0.6F}, 1>("yes_no", "recall_at_precision");
  check.template operator()<sensitivity_at_specificity{.specificity = 0.6F, .num_thresholds = 11}, 1>(
      "yes_no", "sensitivity_at_specificity");
  check.template operator()<specificity_at_sensitivity{.sensitivity = 0.6F, .num_thresholds = 1}, 1>(
      "yes_no", "specificity_at_sensitivity");
  check.template operator()<binary_crossentropy{.label_smoothing = 0.1F}, 1>("yes_no", "binary_crossentropy");
  check.template operator()<binary_crossentropy{.from_logits = true}, 1>("yes_no", "binary_crossentropy_logits");

  check.template operator()<auc{}, 3>("labels", "auc");
  check.template operator()<auc{.multi_label = true}, 3>("labels", "auc_multi_label");
  check.template operator()<auc{.num_thresholds = 21, .label_weights = {0.5F, 2, 1.5F}}, 3>("labels",
                                                                                            "auc_label_weights");
  check.template operator()<
      auc{.curve = pr, .thresholds = {0.7F, 0.2F, 0.5F}, .multi_label = true, .label_weights = {0.5F, 2, 1.5F}}, 3>(
      "labels", "auc_multi_label_weights");
  check.template operator()<detail::part_of(recall{.thresholds = {0.3F, 0.6F}, .top_k = 2}, 1), 3>(
      "labels", "recall_of_top_k_threshold_1");
  check.template operator()<precision{}, 3>("labels", "precision");
  check.template operator()<precision{.top_k = 2}, 3>("labels", "precision_top_k");
  check.template operator()<recall{.thresholds = 0.6F, .top_k = 1}, 3>("labels", "recall_top_k_threshold");
  check.template operator()<recall{.class_id = 1}, 3>("labels", "recall_class_id");
  check.template operator()<precision_at_recall{}, 3>("labels", "precision_at_recall");

  check.template operator()<categorical_crossentropy{.label_smoothing = 0.1F}, 4>("classes",
                                                                                  "categorical_crossentropy");
  check.template operator()<kl_divergence{}, 4>("classes", "kl_divergence");
  check.template operator()<categorical_hinge{}, 4>("classes", "categorical_hinge");
  check.template operator()<hinge{}, 4>("classes", "hinge");
  check.template operator()<squared_hinge{}, 4>("classes", "squared_hinge");

  check.template operator()<root_mean_squared_error{}, 3>("values", "root_mean_squared_error");
  check.template operator()<mean_relative_error{.normalizer = 2.5F}, 3>("values", "mean_relative_error");
  check.template operator()<mean_relative_error{.normalizer = {2.5F, 0, 0.5F}}, 3>("values",
                                                                                   "mean_relative_error_of_columns");
  check.template operator()<cosine_similarity{}, 3>("values", "cosine_similarity");
  check.template operator()<log_cosh_error{}, 3>("values", "log_cosh_error");
  check.template operator()<mean_absolute_percentage_error{}, 3>("values", "mean_absolute_percentage_error");
  check.template operator()<mean_squared_logarithmic_error{}, 3>("positive", "mean_squared_logarithmic_error");
  check.template operator()<poisson{}, 3>("positive", "poisson");

  check.template operator()<mean_io_u{.num_classes = 3}, 1>("class_numbers", "mean_io_u");

  check.template operator()<sparse_categorical_crossentropy{}, 4>("classes_of_rows", "sparse_categorical_crossentropy");
  check.template operator()<sparse_categorical_crossentropy{.from_logits = true, .axis = 1}, 6>(
      "classes_of_places", "sparse_categorical_crossentropy_axis");
}

}  // namespace laws
