// SPDX-License-Identifier: BSD-3-Clause
// The losses of one row and their gradients, as a vertex of a tile computes them.
#pragma once

#include <stagecraft/engine/policy/pass_memory.hpp>
#include <stagecraft/graph/array_view.hpp>
#include <stagecraft/host/lists/traced_loss.hpp>
#include <stagecraft/ipu/operations/row_losses.hpp>
#include <stagecraft/ipu/tiles/tile_view.hpp>
#include <stagecraft/kernels/elementwise/formula.hpp>
#include <array>
#include <cstdint>
#include <vector>

namespace stagecraft::tiles {

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

/// The losses of rows, one after the other, by the host's steps.
class row_losses {
 public:
  row_losses(loss_rule const& rule, std::int64_t columns, bool with_gradient)
      : rule_(rule),
        with_gradient_(with_gradient),
        memory_(rule.plan == nullptr ? 0 : traced_loss_row<>::floats(*rule.plan)) {
    numbers_.resize(3 * columns);
    if (rule.plan != nullptr) addresses_.resize(rule.plan->nodes.size());
  }

  /// The loss of a row without its scale; the gradient is scaled.
  float evaluate(loss_row_view const& row, float scale) {
    float *const target = numbers_.data(), *const prediction = target + row.columns;
    for (std::int64_t c = 0; c < row.target_columns; ++c) target[c] = row.t(c);
    for (std::int64_t c = 0; c < row.columns; ++c) prediction[c] = row.p(c);
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
    kernels::formula_places(*rule_.formula, constants, given,
                            tracing::array_view<float* const>(results).first(with_gradient_ ? 2 : 1), columns);
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

}  // namespace stagecraft::tiles
