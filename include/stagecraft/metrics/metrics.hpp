// SPDX-License-Identifier: BSD-3-Clause
// All metrics.
// Keras counterpart: tf.keras.metrics.
#pragma once

#include <stagecraft/metrics/acc.hpp>
#include <stagecraft/metrics/accuracy.hpp>
#include <stagecraft/metrics/binary_accuracy.hpp>
#include <stagecraft/metrics/categorical_accuracy.hpp>
#include <stagecraft/metrics/mae.hpp>
#include <stagecraft/metrics/mean_absolute_error.hpp>
#include <stagecraft/metrics/mean_squared_error.hpp>
#include <stagecraft/metrics/metric.hpp>
#include <stagecraft/metrics/metric_list.hpp>
#include <stagecraft/metrics/mse.hpp>
#include <stagecraft/metrics/own_metric.hpp>
#include <stagecraft/metrics/per_output.hpp>
#include <stagecraft/metrics/resolve.hpp>
#include <stagecraft/metrics/sparse_categorical_accuracy.hpp>
#include <stagecraft/metrics/sparse_top_k_categorical_accuracy.hpp>
#include <stagecraft/metrics/top_k_categorical_accuracy.hpp>
