// SPDX-License-Identifier: BSD-3-Clause
// Keras's rule that resolves `accuracy`, and the metrics that fit given targets. Keras counterpart: compile_utils.
#pragma once

#include <stagecraft/metrics/accuracy.hpp>
#include <stagecraft/metrics/metric.hpp>

namespace stagecraft::metrics {

/// Keras's choice for `accuracy`: binary for predictions of width 1, else sparse categorical when the targets are class
/// numbers, else categorical. Every other metric is returned as it is.
/// \param sparse_targets whether targets are class numbers, as the loss's `sparse_targets` says
/// \param output_width last dimension of the prediction
[[nodiscard]] constexpr metric resolve(metric chosen, bool sparse_targets, int output_width) noexcept {
  if (chosen.kind != metric_kind::accuracy) return chosen;
  if (output_width == 1) return binary_accuracy{};
  chosen.kind = sparse_targets ? metric_kind::sparse_categorical_accuracy : metric_kind::categorical_accuracy;
  return chosen;
}

/// True if a metric can be computed from the targets that the loss takes: class numbers cannot be compared column by
/// column with a prediction wider than 1, and a row of target values is no class number. A metric that sees whole rows
/// takes any targets; one that counts yes/no predictions reads a class number as a yes in its column.
[[nodiscard]] constexpr bool fits_targets(metric chosen, bool sparse_targets, int output_width) noexcept {
  auto const of = resolve(chosen, sparse_targets, output_width);
  if (output_width > 1 && of.targets != metric_targets::any)
    return sparse_targets == (of.targets == metric_targets::classes);
  return output_width == 1 || of.kind == metric_kind::confusion || of.kind == metric_kind::class_matrix ||
         (of.rules != nullptr && of.rules->takes_ops) || wants_sparse_targets(of.kind) == sparse_targets;
}

}  // namespace stagecraft::metrics
