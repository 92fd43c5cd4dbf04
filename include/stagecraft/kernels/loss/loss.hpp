// SPDX-License-Identifier: BSD-3-Clause
// Value and gradient of the losses over a batch of rows, and the cross entropies over the last axis, with class numbers
// or a distribution as target. Keras counterpart: tf.keras.losses.
#pragma once

#include <stagecraft/kernels/loss/loss_elementwise.hpp>
#include <stagecraft/kernels/normalization/softmax.hpp>
#include <stagecraft/kernels/simd/math.hpp>
#include <stagecraft/losses/probabilistic.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace stagecraft::kernels {

namespace detail {

/// Calls body(load, store, keep) for each batch of a row: `load(pointer)` reads the batch of that row (0 in
/// the lanes after the row), `store(value, pointer)` writes it, `keep(value)` sets the lanes after the row to 0.
template <int Columns, class Arch, class Body>
inline void for_each_batch_of_row(Body const& body) {
  constexpr int width = lanes<Arch>;
  constexpr int whole = Columns / width * width;
  constexpr int rest = Columns - whole;
  for (std::int64_t i = 0; i < whole; i += width)
    body([i](float const* p) { return batch<Arch>::load_unaligned(p + i); },
         [i](batch<Arch> const& value, float* p) { value.store_unaligned(p + i); },
         [](batch<Arch> const& value) { return value; });
  if constexpr (rest > 0)
    body([](float const* p) { return load_first<Arch>(p + whole, rest); },
         [](batch<Arch> const& value, float* p) { store_first(value, p + whole, rest); },
         [](batch<Arch> const& value) { return keep_first(value, rest); });
}

/// The sum of exp(x - shift) over a row, which is also written to `exponentials` unless it is null.
template <int Columns, class Arch>
[[nodiscard]] inline float row_sum_of_exponentials(float const* x, float shift, float* exponentials) {
  batch<Arch> sum(0.0F);
  for_each_batch_of_row<Columns, Arch>([&](auto load, auto store, auto keep) {
    batch<Arch> const value = kernels::exp(load(x) - batch<Arch>(shift));
    sum = sum + keep(value);
    if (exponentials != nullptr) store(value, exponentials);
  });
  return horizontal_sum(sum);
}

template <int Columns>
inline float invalid_row(float* gradient) {
  float const nan = std::numeric_limits<float>::quiet_NaN();
  if (gradient != nullptr)
    for (int column = 0; column < Columns; ++column) gradient[column] = nan;
  return nan;
}

}  // namespace detail

template <auto Loss, int Columns, class Arch>
struct loss_row<Loss, Columns, Arch, losses::sparse_categorical_crossentropy> {
  using value_type = batch<Arch>;

  static float evaluate(std::int32_t const* target, float const* prediction, float scale, float* gradient) {
    if (*target < 0 || *target >= Columns) return detail::invalid_row<Columns>(gradient);
    if constexpr (Loss.from_logits) return from_logits(*target, prediction, scale, gradient);
    return from_probabilities(*target, prediction, scale, gradient);
  }

 private:
  static float from_logits(std::int32_t label, float const* x, float scale, float* gradient) {
    float const label_value = x[label];  // read before the gradient, which may take the same place, is written
    float const largest = detail::row_max<Columns, Arch>(x);
    float const sum = detail::row_sum_of_exponentials<Columns, Arch>(x, largest, gradient);
    if (gradient != nullptr) {
      transform<Arch>(
          Columns, [factor = scale / sum](value_type const& e) { return e * value_type(factor); }, gradient,
          static_cast<float const*>(gradient));
      gradient[label] -= scale;
    }
    return std::log(sum) + (largest - label_value);
  }

  // Keras takes the logarithms of the clipped probabilities as logits: the loss is log(sum q) - log q[label].
  static float from_probabilities(std::int32_t label, float const* p, float scale, float* gradient) {
    float const label_probability = p[label];
    value_type sums(0.0F);
    detail::for_each_batch_of_row<Columns, Arch>(
        [&](auto load, auto, auto keep) { sums = sums + keep(clip_probability(load(p))); });
    float const sum = horizontal_sum(sums);
    float const low = probability_epsilon;
    float const high = 1.0F - probability_epsilon;
    bool const clipped = label_probability < low || label_probability > high;
    float const q = label_probability < low ? low : label_probability > high ? high : label_probability;
    if (gradient != nullptr) {
      transform<Arch>(
          Columns, [factor = scale / sum](value_type const& x) { return clip_slope(x, value_type(factor)); }, gradient,
          p);
      if (!clipped) gradient[label] -= scale / q;
    }
    return std::log(sum / q);
  }
};

template <auto Loss, int Columns, class Arch>
struct loss_row<Loss, Columns, Arch, losses::categorical_crossentropy> {
  using value_type = batch<Arch>;

  static float evaluate(float const* target, float const* prediction, float scale, float* gradient) {
    if constexpr (Loss.from_logits) return from_logits(target, prediction, scale, gradient);
    return from_probabilities(target, prediction, scale, gradient);
  }

 private:
  static value_type smooth(value_type const& t) {
    if constexpr (Loss.label_smoothing == 0) return t;
    return t * value_type(1.0F - Loss.label_smoothing) + value_type(Loss.label_smoothing / Columns);
  }

  // The gradient is TensorFlow's softmax(x) - t, which is the derivative if the target sums to 1.
  static float from_logits(float const* target, float const* x, float scale, float* gradient) {
    float const largest = detail::row_max<Columns, Arch>(x);
    float const sum = detail::row_sum_of_exponentials<Columns, Arch>(x, largest, nullptr);
    value_type const log_sum(std::log(sum));
    value_type const shift(largest);
    value_type const inverse(1.0F / sum);
    value_type losses(0.0F);
    detail::for_each_batch_of_row<Columns, Arch>([&](auto load, auto store, auto keep) {
      value_type const shifted = load(x) - shift;
      value_type const t = smooth(load(target));
      // A target of 0 adds 0 even for a logit of -inf, as in TensorFlow.
      losses = losses + keep(xsimd::select(t == value_type(0.0F), value_type(0.0F), t * (log_sum - shifted)));
      if (gradient != nullptr) store((kernels::exp(shifted) * inverse - t) * value_type(scale), gradient);
    });
    return horizontal_sum(losses);
  }

  // q = p / sum p, clipped; the loss is -sum t log q.
  static float from_probabilities(float const* target, float const* p, float scale, float* gradient) {
    value_type const sum(transform_sum<Arch>(Columns, [](value_type const& x) { return x; }, p));
    value_type losses(0.0F);
    value_type dots(0.0F);  // sum of q * dloss/dq
    detail::for_each_batch_of_row<Columns, Arch>([&](auto load, auto, auto keep) {
      value_type const normalized = load(p) / sum;
      value_type const q = clip_probability(normalized);
      value_type const t = smooth(load(target));
      losses = losses - keep(t * kernels::log(q));
      dots = dots - keep(clip_slope(normalized, t));
    });
    if (gradient != nullptr) {
      value_type const dot(horizontal_sum(dots));
      value_type const factor = value_type(scale) / sum;
      detail::for_each_batch_of_row<Columns, Arch>([&](auto load, auto store, auto) {
        value_type const normalized = load(p) / sum;
        value_type const slope = clip_slope(normalized, smooth(load(target)) / clip_probability(normalized));
        store((value_type(0.0F) - slope - dot) * factor, gradient);
      });
    }
    return horizontal_sum(losses);
  }
};

/// The type of a loss's targets: class numbers, or a float per prediction.
template <auto Loss>
using target_type = std::conditional_t<Loss.sparse_targets, std::int32_t, float>;

/// Returns sum over rows of scale[row] * loss(row), and writes the gradient of that sum by the predictions.
///
/// - `target`: (Rows) class numbers for sparse losses, or as many for each row as the loss says, (Rows, Columns) floats
///   otherwise;
/// - `prediction`: (Rows, Columns); probabilities, or logits if `Loss.from_logits`;
/// - `scale`: (Rows). As in Keras, a row with scale 0 whose loss is NaN makes the sum NaN, since 0 times NaN is NaN;
/// - `gradient`: (Rows, Columns), written; null if it is not needed. May be `prediction`;
/// - `row_loss`: (Rows), the unscaled losses; null if they are not needed;
/// - `valid_rows`: the rows after these only fill the batch. Their loss and gradient are 0, whatever they hold.
///
/// A class number outside of [0, Columns) makes the loss and the row's gradient NaN. For an output that
/// comes from softmax or sigmoid, the plan has the loss of the logits carried out, as Keras does: see
/// plan/logits.hpp.
template <auto Loss, int Rows, int Columns, class Arch = default_architecture>
inline float loss(target_type<Loss> const* target, float const* prediction, float const* scale, float* gradient,
                  float* row_loss = nullptr, std::int64_t valid_rows = Rows) {
  constexpr int target_columns = stagecraft::detail::target_columns_of(Loss, Columns);
  using row_type = loss_row<Loss, Columns, Arch>;
  double total = 0;
  std::int64_t row = 0;
  auto const add = [&](float value) {
    total += static_cast<double>(scale[row]) * static_cast<double>(value);
    if (row_loss != nullptr) row_loss[row] = value;
    ++row;
  };
  if constexpr (requires { row_type::evaluate_rows(target, prediction, scale, gradient, valid_rows, add); }) {
    row_type::evaluate_rows(target, prediction, scale, gradient, valid_rows, add);
  } else {
    while (row < valid_rows)
      add(row_type::evaluate(target + row * target_columns, prediction + row * Columns, scale[row],
                             gradient == nullptr ? nullptr : gradient + row * Columns));
  }
  if (gradient != nullptr) std::fill(gradient + valid_rows * Columns, gradient + std::int64_t{Rows} * Columns, 0.0F);
  if (row_loss != nullptr) std::fill(row_loss + valid_rows, row_loss + Rows, 0.0F);
  return static_cast<float>(total);
}

}  // namespace stagecraft::kernels
