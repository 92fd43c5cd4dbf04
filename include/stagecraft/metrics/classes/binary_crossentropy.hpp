// SPDX-License-Identifier: BSD-3-Clause
// Cross entropy of independent yes/no targets.
// Keras counterpart: tf.keras.metrics.BinaryCrossentropy.
#pragma once

#include <stagecraft/losses/binary_crossentropy.hpp>
#include <stagecraft/metrics/metric.hpp>
#include <concepts>

namespace stagecraft::metrics {

namespace detail {

/// The options in words of four bytes.
struct binary_crossentropy {
  static constexpr std::string_view name = "binary_crossentropy";
  int from_logits = 0;
  float label_smoothing = 0;

  constexpr auto call(auto target, auto output) const {
    return losses::binary_crossentropy{.from_logits = from_logits != 0, .label_smoothing = label_smoothing}.call(
        target, output);
  }
};

}  // namespace detail

/// The loss of that name. The metric sees probabilities after softmax and sigmoid, where the loss takes logits.
struct binary_crossentropy {
  bool from_logits = false;   ///< true: predictions are unnormalised
  float label_smoothing = 0;  ///< as in the loss

  static constexpr std::string_view name = "binary_crossentropy";

  template <std::same_as<metric> Metric>
  constexpr operator Metric() const noexcept {
    return stagecraft::detail::option_of_own<Metric>(detail::binary_crossentropy{from_logits ? 1 : 0, label_smoothing});
  }
};

}  // namespace stagecraft::metrics
