// SPDX-License-Identifier: BSD-3-Clause
// The losses of one row and their gradients, as a vertex of a tile computes them: the definitions of kernels/loss.hpp,
// element by element. Level 5.
#pragma once

#include <stagecraft/execution/host_memory.hpp>
#include <stagecraft/execution/tiles/tile_view.hpp>
#include <stagecraft/execution/traced/traced_loss.hpp>
#include <stagecraft/ipu/operations/row_losses.hpp>
#include <stagecraft/kernels/operations/formula.hpp>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
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

/// The losses of rows, one after the other: the library's own of whole rows, and the host's steps for the others.
class row_losses {
 public:
  row_losses(loss_rule const& rule, std::int64_t columns, bool with_gradient)
      : rule_(rule),
        with_gradient_(with_gradient),
        memory_(rule.plan == nullptr ? 0 : traced_loss_row<>::floats(*rule.plan)) {
    if (rule.formula == nullptr && rule.plan == nullptr) return;
    numbers_.resize(static_cast<std::size_t>(3 * columns));
    if (rule.plan != nullptr) addresses_.resize(rule.plan->nodes.size());
  }

  /// The loss of a row without its scale; the gradient is scaled.
  float evaluate(loss_row_view const& row, float scale) {
    if (rule_.kind == loss_kind::sparse_categorical_crossentropy) return sparse_loss(rule_, row, scale, with_gradient_);
    if (rule_.kind == loss_kind::categorical_crossentropy) return categorical_loss(rule_, row, scale, with_gradient_);
    float *const target = numbers_.data(), *const prediction = target + row.columns;
    for (std::int64_t c = 0; c < row.columns; ++c) {
      target[c] = row.t(c);
      prediction[c] = row.p(c);
    }
    float const loss = rule_.formula != nullptr
                           ? mean_of_places(target, prediction, row.columns, scale)
                           : traced_loss_row<>(*rule_.plan, memory_.data(), addresses_)
                                 .evaluate(target, prediction, scale, with_gradient_ ? prediction : nullptr);
    for (std::int64_t c = 0; with_gradient_ && c < row.columns; ++c) row.set_gradient(c, prediction[c]);
    return loss;
  }

 private:
  float mean_of_places(float* target, float* prediction, std::int64_t columns, float scale) {
    std::array<float, operations::formula_view::most_steps> constants{};
    kernels::formula_constants(*rule_.formula, {}, constants);
    float* const values = prediction + columns;
    std::array<float const*, 2> const given{target, prediction};
    std::array<float*, 2> const results{values, prediction};
    kernels::formula_places(*rule_.formula, constants, given, std::span(results).first(with_gradient_ ? 2 : 1),
                            columns);
    float const factor = scale / static_cast<float>(columns);
    double sum = 0;
    for (std::int64_t c = 0; c < columns; ++c) {
      sum += static_cast<double>(values[c]);
      prediction[c] *= factor;
    }
    return static_cast<float>(sum) / static_cast<float>(columns);
  }

  loss_rule rule_;
  bool with_gradient_;
  std::vector<float> numbers_;  ///< of a row: targets, predictions, losses
  std::vector<float*> addresses_;
  aligned_block memory_;
};

}  // namespace stagecraft::detail
