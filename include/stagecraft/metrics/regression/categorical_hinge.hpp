// SPDX-License-Identifier: BSD-3-Clause
// The margin between the class and the best of the others.
// Keras counterpart: tf.keras.metrics.CategoricalHinge.
#pragma once

#include <stagecraft/losses/categorical_hinge.hpp>
#include <stagecraft/metrics/own_metric.hpp>

namespace stagecraft::metrics {

/// The loss of that name, of rows without their weights.
struct categorical_hinge : own_metric<categorical_hinge> {
  static constexpr std::string_view name = "categorical_hinge";
  static constexpr bool sparse_targets = false;

  constexpr auto call(auto& ops, auto target, auto output) const {
    return losses::categorical_hinge{}.call(ops, target, output);
  }
};

}  // namespace stagecraft::metrics
