// SPDX-License-Identifier: BSD-3-Clause
// The angle between prediction and target.
// Keras counterpart: tf.keras.metrics.CosineSimilarity.
#pragma once

#include <stagecraft/losses/cosine_similarity.hpp>
#include <stagecraft/metrics/metric.hpp>
#include <concepts>

namespace stagecraft::metrics {

/// The cosine of the angle between a row and its target, 0 if either is 0: the loss of that name has the other sign.
struct cosine_similarity {
  int axis = -1;  ///< along which vectors lie; 1 is the first one of a sample. E1103

  static constexpr std::string_view name = "cosine_similarity";
  static constexpr bool sparse_targets = false;

  constexpr auto call(auto& ops, auto target, auto output) const {
    return -losses::cosine_similarity{}.call(ops, target, output);
  }
  template <std::same_as<metric> Metric>
  constexpr operator Metric() const noexcept {
    return stagecraft::detail::option_of_own<Metric>(*this);
  }
};

}  // namespace stagecraft::metrics
