// SPDX-License-Identifier: BSD-3-Clause
// Mean of the logarithms of the hyperbolic cosines of differences.
// Keras counterpart: tf.keras.metrics.LogCoshError.
#pragma once

#include <stagecraft/losses/log_cosh.hpp>
#include <stagecraft/metrics/own_metric.hpp>

namespace stagecraft::metrics {

/// The loss `log_cosh`.
struct log_cosh_error : own_metric<log_cosh_error> {
  static constexpr std::string_view name = "logcosh";

  constexpr auto call(auto target, auto output) const { return losses::log_cosh{}.call(target, output); }
};

}  // namespace stagecraft::metrics
