// SPDX-License-Identifier: BSD-3-Clause
// All metrics.
// Keras counterpart: tf.keras.metrics.
#pragma once

#include <stagecraft/metrics/accuracy.hpp>
#include <stagecraft/metrics/confusion.hpp>
#include <stagecraft/metrics/crossentropy.hpp>
#include <stagecraft/metrics/curves.hpp>
#include <stagecraft/metrics/mean.hpp>
#include <stagecraft/metrics/mean_io_u.hpp>
#include <stagecraft/metrics/metric.hpp>
#include <stagecraft/metrics/metric_list.hpp>
#include <stagecraft/metrics/per_output.hpp>
#include <stagecraft/metrics/regression.hpp>
#include <stagecraft/metrics/resolve.hpp>
