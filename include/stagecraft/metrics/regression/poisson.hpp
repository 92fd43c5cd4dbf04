// SPDX-License-Identifier: BSD-3-Clause
// What a Poisson distribution of the predicted mean says of counts.
// Keras counterpart: tf.keras.metrics.Poisson.
#pragma once

#include <stagecraft/losses/poisson.hpp>
#include <stagecraft/metrics/own_metric.hpp>

namespace stagecraft::metrics {

/// The loss of that name, of rows without their weights.
struct poisson : own_metric<poisson> {
  static constexpr std::string_view name = "poisson";

  constexpr auto call(auto target, auto output) const { return losses::poisson{}.call(target, output); }
};

}  // namespace stagecraft::metrics
