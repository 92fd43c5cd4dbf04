// SPDX-License-Identifier: BSD-3-Clause
// Metrics of predicted probabilities of classes.
// Keras counterpart: BinaryCrossentropy and the like of tf.keras.metrics.
#pragma once

#include <stagecraft/losses/probabilistic.hpp>
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

/// Cross entropy of independent yes/no targets. Keras: tf.keras.metrics.BinaryCrossentropy.
/// It is the mean of the loss of that name. The metric sees probabilities after softmax and sigmoid, where the loss
/// takes logits.
struct binary_crossentropy {
  bool from_logits = false;   ///< true: predictions are unnormalised
  float label_smoothing = 0;  ///< as in the loss

  static constexpr std::string_view name = "binary_crossentropy";

  template <std::same_as<metric> Metric>
  constexpr operator Metric() const noexcept {
    return stagecraft::detail::option_of_own<Metric>(detail::binary_crossentropy{from_logits ? 1 : 0, label_smoothing});
  }
};

namespace detail {

/// The options in words of four bytes.
struct categorical_crossentropy {
  static constexpr std::string_view name = "categorical_crossentropy";
  static constexpr bool sparse_targets = false;
  int from_logits = 0;
  float label_smoothing = 0;

  constexpr auto call(auto& ops, auto target, auto output) const {
    return losses::categorical_crossentropy{.from_logits = from_logits != 0, .label_smoothing = label_smoothing}.call(
        ops, target, output);
  }
};

}  // namespace detail

/// Cross entropy of a target distribution against one probability (or logit) per class. Keras:
/// tf.keras.metrics.CategoricalCrossentropy.
/// It is the mean of the loss of that name. The metric sees probabilities after softmax and sigmoid, where the loss
/// takes logits.
struct categorical_crossentropy {
  bool from_logits = false;   ///< true: predictions are unnormalised
  float label_smoothing = 0;  ///< as in the loss

  static constexpr std::string_view name = "categorical_crossentropy";

  template <std::same_as<metric> Metric>
  constexpr operator Metric() const noexcept {
    return stagecraft::detail::option_of_own<Metric>(
        detail::categorical_crossentropy{from_logits ? 1 : 0, label_smoothing});
  }
};

namespace detail {

/// The options in words of four bytes.
struct sparse_categorical_crossentropy {
  static constexpr std::string_view name = "sparse_categorical_crossentropy";
  static constexpr bool sparse_targets = true;
  int from_logits = 0;
  int axis = -1;

  constexpr auto call(auto& ops, auto target, auto output) const {
    return losses::sparse_categorical_crossentropy{.from_logits = from_logits != 0}.call(ops, target, output);
  }
};

}  // namespace detail

/// Cross entropy of class numbers against one probability (or logit) per class. Keras:
/// tf.keras.metrics.SparseCategoricalCrossentropy.
/// It is the mean of the loss of that name. The metric sees probabilities after softmax and sigmoid, where the loss
/// takes logits. Its axis is that of the loss, whose class numbers it takes.
struct sparse_categorical_crossentropy {
  bool from_logits = false;  ///< true: predictions are unnormalised
  int axis = -1;             ///< along which the classes lie; 1 is the first one of a sample. E1103

  static constexpr std::string_view name = "sparse_categorical_crossentropy";

  template <std::same_as<metric> Metric>
  constexpr operator Metric() const noexcept {
    return stagecraft::detail::option_of_own<Metric>(
        detail::sparse_categorical_crossentropy{from_logits ? 1 : 0, axis});
  }
};

}  // namespace stagecraft::metrics
