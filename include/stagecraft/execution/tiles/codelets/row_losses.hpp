// SPDX-License-Identifier: BSD-3-Clause
// The losses of one row and their gradients, as a vertex of a tile computes them: the definitions of kernels/loss.hpp,
// element by element. Level 5.
#pragma once

#include <stagecraft/execution/host_memory.hpp>
#include <stagecraft/execution/tiles/tile_view.hpp>
#include <stagecraft/execution/traced/traced_loss.hpp>
#include <stagecraft/ipu/operations/row_losses.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace stagecraft::detail {

/// One row of predictions, which becomes the gradient if that is wanted, and of targets.
struct loss_row_view {
  tile_view const& prediction;
  tile_view const& target;
  std::int64_t row;
  std::int64_t columns;
  std::int64_t target_columns;

  [[nodiscard]] float p(std::int64_t column) const { return prediction[row * columns + column]; }
  [[nodiscard]] float t(std::int64_t column) const { return target[row * target_columns + column]; }
  void set_gradient(std::int64_t column, float value) const { prediction.set(row * columns + column, value); }
};

inline constexpr float clip_low = 1e-7F, clip_high = 1.0F - 1e-7F;

[[nodiscard]] inline float clipped(float p) { return p < clip_low ? clip_low : p > clip_high ? clip_high : p; }
[[nodiscard]] inline bool is_clipped(float p) { return p < clip_low || p > clip_high; }

struct row_softmax {
  float largest = -std::numeric_limits<float>::infinity();
  float sum = 0;

  explicit row_softmax(loss_row_view const& row) {
    for (std::int64_t c = 0; c < row.columns; ++c)
      if (row.p(c) > largest) largest = row.p(c);
    double total = 0;
    for (std::int64_t c = 0; c < row.columns; ++c) total += std::exp(row.p(c) - largest);
    sum = static_cast<float>(total);
  }
};

/// The loss of a row with class numbers.
inline float sparse_loss(loss_rule const& rule, loss_row_view const& row, float scale, bool with_gradient) {
  float const number = row.t(0);
  if (!(number >= 0 && number < static_cast<float>(row.columns))) {
    float const nan = std::numeric_limits<float>::quiet_NaN();
    for (std::int64_t c = 0; with_gradient && c < row.columns; ++c) row.set_gradient(c, nan);
    return nan;
  }
  auto const label = static_cast<std::int64_t>(number);
  float const at_label = row.p(label);
  if (rule.from_logits) {
    row_softmax const all(row);
    for (std::int64_t c = 0; with_gradient && c < row.columns; ++c)
      row.set_gradient(c, std::exp(row.p(c) - all.largest) * (scale / all.sum) - (c == label ? scale : 0.0F));
    return std::log(all.sum) + (all.largest - at_label);
  }
  double total = 0;
  for (std::int64_t c = 0; c < row.columns; ++c) total += clipped(row.p(c));
  auto const sum = static_cast<float>(total);
  for (std::int64_t c = 0; with_gradient && c < row.columns; ++c) {
    float const p = row.p(c);
    float const slope = is_clipped(p) ? 0.0F : scale / sum;
    row.set_gradient(c, c == label && !is_clipped(p) ? slope - scale / p : slope);
  }
  return std::log(sum / clipped(at_label));
}

inline float categorical_loss(loss_rule const& rule, loss_row_view const& row, float scale, bool with_gradient) {
  auto const target = [&](std::int64_t c) {
    return rule.option == 0 ? row.t(c)
                            : row.t(c) * (1.0F - rule.option) + rule.option / static_cast<float>(row.columns);
  };
  double loss = 0;
  if (rule.from_logits) {
    row_softmax const all(row);
    float const log_sum = std::log(all.sum);
    for (std::int64_t c = 0; c < row.columns; ++c) {
      float const t = target(c), shifted = row.p(c) - all.largest;
      if (t != 0) loss += t * (log_sum - shifted);
      if (with_gradient) row.set_gradient(c, (std::exp(shifted) / all.sum - t) * scale);
    }
    return static_cast<float>(loss);
  }
  double total = 0, dots = 0;
  for (std::int64_t c = 0; c < row.columns; ++c) total += row.p(c);
  auto const sum = static_cast<float>(total);
  for (std::int64_t c = 0; c < row.columns; ++c) {
    float const normalized = row.p(c) / sum;
    loss -= target(c) * std::log(clipped(normalized));
    if (!is_clipped(normalized)) dots -= target(c);
  }
  for (std::int64_t c = 0; with_gradient && c < row.columns; ++c) {
    float const normalized = row.p(c) / sum;
    float const slope = is_clipped(normalized) ? 0.0F : target(c) / normalized;
    row.set_gradient(c, (-slope - static_cast<float>(dots)) * (scale / sum));
  }
  return static_cast<float>(loss);
}

/// One element's loss and its slope, of those losses that are means over the row.
struct element_loss {
  float value = 0;
  float slope = 0;
};

[[nodiscard]] inline element_loss binary_loss(loss_rule const& rule, float p, float given) {
  float const t = rule.option == 0 ? given : given * (1.0F - rule.option) + 0.5F * rule.option;
  if (rule.from_logits) {
    float const softplus = std::log1p(std::exp(-std::fabs(p)));
    return {(p < 0 ? 0.0F : p) - p * t + softplus, 1.0F / (1.0F + std::exp(-p)) - t};
  }
  constexpr float epsilon = clip_low;
  float const q = clipped(p);
  float const slope = (1.0F - t) / (1.0F - q + epsilon) - t / (q + epsilon);
  return {-t * std::log(q + epsilon) - (1.0F - t) * std::log(1.0F - q + epsilon), is_clipped(p) ? 0.0F : slope};
}

[[nodiscard]] inline element_loss loss_of_element(loss_rule const& rule, float p, float t) {
  float const error = p - t;
  switch (rule.kind) {
    case loss_kind::mean_squared_error: return {error * error, 2.0F * error};
    case loss_kind::mean_absolute_error: return {std::fabs(error), error > 0 ? 1.0F : error < 0 ? -1.0F : error * 0.0F};
    case loss_kind::huber: {
      float const delta = rule.option, size = std::fabs(error);
      return {size <= delta ? 0.5F * size * size : delta * size - 0.5F * delta * delta, error > delta    ? delta
                                                                                        : error < -delta ? -delta
                                                                                                         : error};
    }
    default: return binary_loss(rule, p, t);
  }
}

/// The loss of a row without its scale; the gradient is scaled.
inline float loss_of_row(loss_rule const& rule, loss_row_view const& row, float scale, bool with_gradient) {
  if (rule.kind == loss_kind::sparse_categorical_crossentropy) return sparse_loss(rule, row, scale, with_gradient);
  if (rule.kind == loss_kind::categorical_crossentropy) return categorical_loss(rule, row, scale, with_gradient);
  double sum = 0;
  float const per_column = scale / static_cast<float>(row.columns);
  for (std::int64_t c = 0; c < row.columns; ++c) {
    auto const one = loss_of_element(rule, row.p(c), row.t(c));
    sum += one.value;
    if (with_gradient) row.set_gradient(c, one.slope * per_column);
  }
  return static_cast<float>(sum) / static_cast<float>(row.columns);
}

/// Losses that are written as a `call`: the host's steps, on a row at a time.
class traced_losses {
 public:
  /// Without a plan there is nothing to do.
  traced_losses(operations::plan_view const* plan, std::int64_t columns)
      : plan_(plan), memory_(plan == nullptr ? 0 : traced_loss_row<>::floats(*plan)) {
    if (plan == nullptr) return;
    numbers_.resize(static_cast<std::size_t>(2 * columns));
    addresses_.resize(plan->nodes.size());
  }
  float evaluate(loss_row_view const& row, float scale, bool with_gradient) {
    float *const target = numbers_.data(), *const prediction = target + row.columns;
    for (std::int64_t c = 0; c < row.columns; ++c) {
      target[c] = row.t(c);
      prediction[c] = row.p(c);
    }
    float const loss = traced_loss_row<>(*plan_, memory_.data(), addresses_)
                           .evaluate(target, prediction, scale, with_gradient ? prediction : nullptr);
    for (std::int64_t c = 0; with_gradient && c < row.columns; ++c) row.set_gradient(c, prediction[c]);
    return loss;
  }

 private:
  operations::plan_view const* plan_;
  std::vector<float> numbers_;
  std::vector<float*> addresses_;
  aligned_block memory_;
};

}  // namespace stagecraft::detail
