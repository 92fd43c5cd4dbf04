// SPDX-License-Identifier: BSD-3-Clause
// The margin of classes -1 and 1.
// Keras counterpart: tf.keras.metrics.Hinge.
#pragma once

#include <stagecraft/losses/hinge.hpp>
#include <stagecraft/metrics/own_metric.hpp>

namespace stagecraft::metrics {

/// The loss of that name, of rows without their weights.
struct hinge : own_metric<hinge> {
  static constexpr std::string_view name = "hinge";

  constexpr auto call(auto target, auto output) const { return losses::hinge{}.call(target, output); }
};

}  // namespace stagecraft::metrics
