// SPDX-License-Identifier: BSD-3-Clause
// How far a distribution is from another one.
// Keras counterpart: tf.keras.metrics.KLDivergence.
#pragma once

#include <stagecraft/losses/kl_divergence.hpp>
#include <stagecraft/metrics/own_metric.hpp>

namespace stagecraft::metrics {

/// The loss of that name, of rows without their weights.
struct kl_divergence : own_metric<kl_divergence> {
  static constexpr std::string_view name = "kullback_leibler_divergence";
  static constexpr bool sparse_targets = false;

  constexpr auto call(auto& ops, auto target, auto output) const {
    return losses::kl_divergence{}.call(ops, target, output);
  }
};

}  // namespace stagecraft::metrics
