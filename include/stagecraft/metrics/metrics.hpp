// SPDX-License-Identifier: BSD-3-Clause
// All metrics.
// Keras counterpart: tf.keras.metrics.
#pragma once

#include <stagecraft/metrics/acc.hpp>
#include <stagecraft/metrics/accuracy.hpp>
#include <stagecraft/metrics/auc.hpp>
#include <stagecraft/metrics/binary_accuracy.hpp>
#include <stagecraft/metrics/binary_crossentropy.hpp>
#include <stagecraft/metrics/categorical_accuracy.hpp>
#include <stagecraft/metrics/categorical_crossentropy.hpp>
#include <stagecraft/metrics/categorical_hinge.hpp>
#include <stagecraft/metrics/cosine_similarity.hpp>
#include <stagecraft/metrics/false_negatives.hpp>
#include <stagecraft/metrics/false_positives.hpp>
#include <stagecraft/metrics/hinge.hpp>
#include <stagecraft/metrics/kl_divergence.hpp>
#include <stagecraft/metrics/log_cosh_error.hpp>
#include <stagecraft/metrics/mae.hpp>
#include <stagecraft/metrics/mean_absolute_error.hpp>
#include <stagecraft/metrics/mean_absolute_percentage_error.hpp>
#include <stagecraft/metrics/mean_io_u.hpp>
#include <stagecraft/metrics/mean_relative_error.hpp>
#include <stagecraft/metrics/mean_squared_error.hpp>
#include <stagecraft/metrics/mean_squared_logarithmic_error.hpp>
#include <stagecraft/metrics/metric.hpp>
#include <stagecraft/metrics/metric_list.hpp>
#include <stagecraft/metrics/metric_sums.hpp>
#include <stagecraft/metrics/mse.hpp>
#include <stagecraft/metrics/own_metric.hpp>
#include <stagecraft/metrics/per_output.hpp>
#include <stagecraft/metrics/poisson.hpp>
#include <stagecraft/metrics/precision.hpp>
#include <stagecraft/metrics/precision_at_recall.hpp>
#include <stagecraft/metrics/recall.hpp>
#include <stagecraft/metrics/recall_at_precision.hpp>
#include <stagecraft/metrics/resolve.hpp>
#include <stagecraft/metrics/root_mean_squared_error.hpp>
#include <stagecraft/metrics/sensitivity_at_specificity.hpp>
#include <stagecraft/metrics/sparse_categorical_accuracy.hpp>
#include <stagecraft/metrics/sparse_categorical_crossentropy.hpp>
#include <stagecraft/metrics/sparse_top_k_categorical_accuracy.hpp>
#include <stagecraft/metrics/specificity_at_sensitivity.hpp>
#include <stagecraft/metrics/squared_hinge.hpp>
#include <stagecraft/metrics/top_k_categorical_accuracy.hpp>
#include <stagecraft/metrics/true_negatives.hpp>
#include <stagecraft/metrics/true_positives.hpp>
