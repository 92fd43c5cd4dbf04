// SPDX-License-Identifier: BSD-3-Clause
// The formulas of the kernels, one number at a time, in double and without any vector: the oracle of the tests, and the
// place to read what a kernel computes.
// Keras counterpart: tf.keras.activations, losses and optimizers.legacy.
#pragma once

#include <stagecraft/activations/activation.hpp>
#include <stagecraft/losses/losses.hpp>
#include <stagecraft/regularizers/regularizer.hpp>

#include <cmath>
#include <cstdint>

namespace stagecraft::kernels::reference {

/// f(x) of every elementwise activation of the library.
[[nodiscard]] inline double activation_forward(activation const& f, double x) {
  double const sigmoid = 1 / (1 + std::exp(-x));
  switch (f.kind) {
    case activation_kind::linear:
    case activation_kind::own:
    case activation_kind::softmax: return x;
    case activation_kind::relu: {
      double y = f.threshold != 0 ? (x > f.threshold ? x : 0) : (x < 0 ? 0 : x);
      if (f.max_value >= 0) y = y < 0 ? 0 : (y > f.max_value ? f.max_value : y);
      return x < f.threshold ? y - f.alpha * (f.threshold - x) : y;
    }
    case activation_kind::sigmoid: return sigmoid;
    case activation_kind::tanh: return std::tanh(x);
    case activation_kind::gelu: return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
    case activation_kind::gelu_tanh: return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
    case activation_kind::swish: return x * sigmoid;
    case activation_kind::selu: return 1.0507009873554805 * (x < 0 ? 1.6732632423543772 * std::expm1(x) : x);
    case activation_kind::elu: return x > 0 ? x : f.alpha * std::expm1(x);
    case activation_kind::exponential: return std::exp(x);
    case activation_kind::softplus: return (x > 0 ? x : 0) + std::log1p(std::exp(-std::fabs(x)));
    case activation_kind::softsign: return x / (1 + std::fabs(x));
    case activation_kind::hard_sigmoid: {
      double const y = 0.2 * x + 0.5;
      return y < 0 ? 0 : y > 1 ? 1 : y;
    }
  }
  return x;
}

/// f'(x); TensorFlow's choice where there is no derivative.
[[nodiscard]] inline double activation_slope(activation const& f, double x) {
  double const y = activation_forward(f, x);
  double const sigmoid = 1 / (1 + std::exp(-x));
  switch (f.kind) {
    case activation_kind::linear:
    case activation_kind::own:
    case activation_kind::softmax: return 1;
    case activation_kind::relu: {
      if (f.threshold == 0 && f.max_value < 0) return x > 0 ? 1 : f.alpha;
      bool const inside =
          f.max_value < 0 || (f.max_value == 6 && f.threshold == 0 ? x < 6 : x >= 0 && x <= f.max_value);
      return (x > f.threshold && inside ? 1 : 0) + (x < f.threshold ? f.alpha : 0);
    }
    case activation_kind::sigmoid: return y * (1 - y);
    case activation_kind::tanh: return 1 - y * y;
    case activation_kind::gelu:
      return 0.5 * std::erfc(-x / std::sqrt(2.0)) + x * 0.3989422804014327 * std::exp(-0.5 * x * x);
    case activation_kind::gelu_tanh: {
      double const t = std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x));
      return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * 0.7978845608028654 * (1 + 3 * 0.044715 * x * x);
    }
    case activation_kind::swish: return sigmoid + x * sigmoid * (1 - sigmoid);
    case activation_kind::selu: return 1.0507009873554805 * (x < 0 ? 1.6732632423543772 * std::exp(x) : 1);
    case activation_kind::elu: return x > 0 ? 1 : f.alpha * std::exp(x);
    case activation_kind::exponential: return y;
    case activation_kind::softplus: return sigmoid;
    case activation_kind::softsign: return 1 / ((1 + std::fabs(x)) * (1 + std::fabs(x)));
    case activation_kind::hard_sigmoid: return x >= -2.5 && x <= 2.5 ? 0.2 : 0;
  }
  return 1;
}

/// y = softmax(x) of one row.
inline void softmax(float const* x, double* y, int columns) {
  double largest = x[0];
  for (int i = 1; i < columns; ++i) largest = x[i] > largest ? x[i] : largest;
  double sum = 0;
  for (int i = 0; i < columns; ++i) sum += y[i] = std::exp(x[i] - largest);
  for (int i = 0; i < columns; ++i) y[i] /= sum;
}

/// A probability as Keras clips it: the limits are those of float arithmetic.
[[nodiscard]] inline double clip_probability(double p) {
  double const low = 1e-7F;
  double const high = 1.0F - 1e-7F;
  return p < low ? low : p > high ? high : p;
}

/// The loss of one row.
[[nodiscard]] inline double loss_row(losses::mean_squared_error const&, float const* t, float const* p, int columns) {
  double sum = 0;
  for (int i = 0; i < columns; ++i) sum += (double{p[i]} - t[i]) * (double{p[i]} - t[i]);
  return sum / columns;
}

[[nodiscard]] inline double loss_row(losses::mean_absolute_error const&, float const* t, float const* p, int columns) {
  double sum = 0;
  for (int i = 0; i < columns; ++i) sum += std::fabs(double{p[i]} - t[i]);
  return sum / columns;
}

[[nodiscard]] inline double loss_row(losses::huber const& loss, float const* t, float const* p, int columns) {
  double sum = 0;
  for (int i = 0; i < columns; ++i) {
    double const e = std::fabs(double{p[i]} - t[i]);
    sum += e <= loss.delta ? 0.5 * e * e : loss.delta * e - 0.5 * loss.delta * loss.delta;
  }
  return sum / columns;
}

[[nodiscard]] inline double loss_row(losses::binary_crossentropy const& loss, float const* t, float const* p,
                                     int columns) {
  double sum = 0;
  for (int i = 0; i < columns; ++i) {
    double const y = t[i] * (1.0 - loss.label_smoothing) + 0.5 * loss.label_smoothing;
    double const x = p[i];
    double const q = clip_probability(x);
    sum += loss.from_logits ? (x > 0 ? x : 0) - x * y + std::log1p(std::exp(-std::fabs(x)))
                            : -y * std::log(q + 1e-7) - (1 - y) * std::log(1 - q + 1e-7);
  }
  return sum / columns;
}

[[nodiscard]] inline double loss_row(losses::categorical_crossentropy const& loss, float const* t, float const* p,
                                     int columns) {
  double largest = p[0];
  double total = 0;
  for (int i = 0; i < columns; ++i) {
    total += p[i];
    if (p[i] > largest) largest = p[i];
  }
  double exponentials = 0;
  for (int i = 0; i < columns; ++i) exponentials += std::exp(p[i] - largest);
  double sum = 0;
  for (int i = 0; i < columns; ++i) {
    double const y = t[i] * (1.0 - loss.label_smoothing) + loss.label_smoothing / columns;
    if (loss.from_logits)
      sum += y * (std::log(exponentials) - (p[i] - largest));
    else
      sum -= y * std::log(clip_probability(p[i] / total));
  }
  return sum;
}

[[nodiscard]] inline double loss_row(losses::sparse_categorical_crossentropy const& loss, std::int32_t const* t,
                                     float const* p, int columns) {
  double largest = p[0];
  double total = 0;
  for (int i = 0; i < columns; ++i) {
    total += clip_probability(p[i]);
    if (p[i] > largest) largest = p[i];
  }
  if (!loss.from_logits) return std::log(total) - std::log(clip_probability(p[*t]));
  double exponentials = 0;
  for (int i = 0; i < columns; ++i) exponentials += std::exp(p[i] - largest);
  return std::log(exponentials) + (largest - p[*t]);
}

/// The penalty of one weight, and its derivative.
[[nodiscard]] inline double regularization_loss(regularizer const& penalty, double w) {
  return penalty.l1 * std::fabs(w) + penalty.l2 * w * w;
}

[[nodiscard]] inline double regularization_slope(regularizer const& penalty, double w) {
  return penalty.l1 * (w > 0 ? 1 : w < 0 ? -1 : 0) + 2 * penalty.l2 * w;
}

}  // namespace stagecraft::kernels::reference
