// SPDX-License-Identifier: BSD-3-Clause
// Losses of predicted probabilities and rates.
// Keras counterpart: the classes of the same names of tf.keras.losses. Faster loops are in kernels/loss/.
#pragma once

#include <stagecraft/losses/reduction.hpp>
#include <stagecraft/operations/composite_gradient.hpp>
#include <stagecraft/operations/tensor.hpp>
#include <stagecraft/operations/tracer.hpp>
#include <limits>

namespace stagecraft::losses::detail {

/// Keras clips probabilities to [epsilon, 1 - epsilon] (tf.keras.backend.epsilon).
inline constexpr float probability_epsilon = 1e-7F;

/// The probability, clipped; where this changes it, its gradient is 0.
constexpr operations::tensor clip_probability(operations::tensor p) {
  return maximum(minimum(p, 1 - probability_epsilon), probability_epsilon);
}

}  // namespace stagecraft::losses::detail

namespace stagecraft::losses {

/// Cross entropy of independent yes/no targets. Keras: tf.keras.losses.BinaryCrossentropy.
/// mean over the last axis of -(y log p + (1 - y) log(1 - p)); target and prediction (rows, columns).
/// If the output comes from softmax or sigmoid, its logits are taken, as in Keras. Other probabilities Keras clips to
/// [1e-7, 1 - 1e-7], and adds 1e-7 inside the logarithms.
struct binary_crossentropy {
  bool from_logits = false;          ///< true: the model's output is unnormalised, the loss applies sigmoid itself
  float label_smoothing = 0;         ///< s: targets become y (1 - s) + s / 2
  int axis = -1;                     ///< the axis of the mean; 1 is the first one of a sample. E1103
  losses::reduction reduction = {};  ///< the reduction of the losses of rows: their sum, divided by the batch size

  using listed_options = binary_crossentropy;
  static constexpr std::string_view name = "binary_crossentropy";
  static constexpr bool sparse_targets = false;

  constexpr auto call(auto target, auto output) const {
    auto const y = label_smoothing == 0 ? target : target * (1 - label_smoothing) + 0.5F * label_smoothing;
    if (from_logits) {
      // Written without max and abs, whose derivatives at 0 would not add up to the sigmoid.
      auto const is_positive = output >= 0;
      return where(is_positive, output, 0.0F) - output * y + operations::softplus(where(is_positive, -output, output));
    }
    constexpr float epsilon = detail::probability_epsilon;
    auto const p = detail::clip_probability(output);
    return -(y * log(p + epsilon)) - (1 - y) * log(1 - p + epsilon);
  }
};

using bce = binary_crossentropy;  ///< Keras's short name

/// Cross entropy of a target distribution against one probability (or logit) per class. Keras:
/// tf.keras.losses.CategoricalCrossentropy.
/// -sum_c y[c] log p[c] over the last axis; target and prediction (rows, classes).
/// If the output comes from softmax or sigmoid, its logits are taken, as in Keras. Other probabilities Keras first
/// divides by their sum, then clips to [1e-7, 1 - 1e-7].
struct categorical_crossentropy {
  bool from_logits = false;          ///< true: the model's output is unnormalised, the loss applies softmax itself
  float label_smoothing = 0;         ///< s: targets become y (1 - s) + s / classes
  int axis = -1;                     ///< the axis of the classes; 1 is the first one of a sample. E1103
  losses::reduction reduction = {};  ///< the reduction of the losses of rows: their sum, divided by the batch size

  using listed_options = categorical_crossentropy;
  static constexpr std::string_view name = "categorical_crossentropy";
  static constexpr bool sparse_targets = false;

  constexpr auto call(auto& ops, auto target, auto output) const {
    auto const smooth = label_smoothing / static_cast<float>(output.length(-1));
    auto const y = label_smoothing == 0 ? target : target * (1 - label_smoothing) + smooth;
    if (!from_logits) return ops.sum(-(y * log(detail::clip_probability(output / ops.sum(output, -1)))), -1);
    return ops.composite(
        name, {y, output},
        [&] {
          auto const shifted = output - ops.max(output, -1);
          auto const each = y * (log(ops.sum(exp(shifted), -1)) - shifted);
          return ops.sum(where(equal(y, 0.0F), 0.0F, each), -1);  // 0 also if the logit is -inf, as in TensorFlow
        },
        from_logits_rule);
  }

 private:
  /// TensorFlow's softmax(x) - y, which is the derivative if the target sums to 1.
  static constexpr void from_logits_rule(operations::composite_gradient& of) {
    of.give(1, (of.ops().softmax(of.read(1)) - of.read(0)) * of.gradient());
  }
};

/// Cross entropy of class numbers against one probability (or logit) per class. Keras:
/// tf.keras.losses.SparseCategoricalCrossentropy.
/// -log p[y] with y an integer class number, one per row; prediction (rows, classes). Along another axis than the last
/// one, targets have the output's shape without that axis.
/// If the output comes from softmax or sigmoid, its logits are taken, as in Keras. Other probabilities Keras clips to
/// [1e-7, 1 - 1e-7] and normalises again (softmax of the logarithms). A number that is no class makes the loss of its
/// row and the gradient NaN.
struct sparse_categorical_crossentropy {
  bool from_logits = false;          ///< true: the model's output is unnormalised, the loss applies softmax itself
  int axis = -1;                     ///< the axis of the classes; 1 is the first one of a sample. E1103
  losses::reduction reduction = {};  ///< the reduction of the losses of rows: their sum, divided by the batch size

  using listed_options = sparse_categorical_crossentropy;
  static constexpr std::string_view name = "sparse_categorical_crossentropy";
  static constexpr bool sparse_targets = true;

  constexpr auto call(auto& ops, auto target, auto output) const {
    auto const is_class = equal(ops.iota(output.shape()), target);
    auto const x = output * where(ops.max(is_class, -1), 1.0F, std::numeric_limits<float>::quiet_NaN());
    auto const of_class = [&](auto each) { return ops.sum(where(is_class, each, 0.0F), -1); };
    if (from_logits) {
      auto const shifted = x - operations::stop_gradient(ops.max(x, -1));
      return log(ops.sum(exp(shifted), -1)) - of_class(shifted);
    }
    auto const p = detail::clip_probability(x);
    return log(ops.sum(p, -1)) - log(of_class(p));
  }
};

/// The distance of a distribution from another one. Keras: tf.keras.losses.KLDivergence.
/// sum over the last axis of target log(target / prediction); both (rows, columns), limited to [1e-7, 1].
struct kl_divergence {
  losses::reduction reduction = {};  ///< the reduction of the losses of rows: their sum, divided by the batch size

  using listed_options = kl_divergence;
  static constexpr std::string_view name = "kl_divergence";
  static constexpr bool sparse_targets = false;

  constexpr auto call(auto& ops, auto target, auto output) const {
    constexpr auto limited = [](auto p) { return maximum(minimum(p, 1.0F), detail::probability_epsilon); };
    auto const y = limited(target);
    return ops.sum(y * log(y / limited(output)), -1);
  }
};

using kld = kl_divergence;  ///< Keras's short name

/// The negative log-likelihood of counts, whose Poisson distributions have the predicted means. Keras:
/// tf.keras.losses.Poisson. mean over the last axis of prediction - target log(prediction + 1e-7); both (rows,
/// columns).
struct poisson {
  losses::reduction reduction = {};  ///< the reduction of the losses of rows: their sum, divided by the batch size

  using listed_options = poisson;
  static constexpr std::string_view name = "poisson";
  static constexpr bool sparse_targets = false;

  constexpr auto call(auto target, auto output) const {
    return output - target * log(output + detail::probability_epsilon);
  }
};

}  // namespace stagecraft::losses
