// SPDX-License-Identifier: BSD-3-Clause
// The margin of classes -1 and 1, squared.
// Keras counterpart: tf.keras.metrics.SquaredHinge.
#pragma once

#include <stagecraft/losses/squared_hinge.hpp>
#include <stagecraft/metrics/own_metric.hpp>

namespace stagecraft::metrics {

/// The loss of that name, of rows without their weights.
struct squared_hinge : own_metric<squared_hinge> {
  static constexpr std::string_view name = "squared_hinge";

  constexpr auto call(auto target, auto output) const { return losses::squared_hinge{}.call(target, output); }
};

}  // namespace stagecraft::metrics
