// SPDX-License-Identifier: BSD-3-Clause
// Value and gradient of the losses over a batch of rows; the losses themselves are in loss_*.hpp.
// Keras counterpart: tf.keras.losses.
#pragma once

#include <stagecraft/kernels/loss/loss_categorical.hpp>
#include <stagecraft/kernels/loss/loss_elementwise.hpp>

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace stagecraft::kernels {

/// What a loss takes as target: class numbers, or a float per prediction.
template <auto Loss>
using target_type = std::conditional_t<Loss.sparse_targets, std::int32_t, float>;

/// Returns sum over rows of scale[row] * loss(row), and writes the gradient of that sum by the predictions.
///
/// - `target`: (Rows) class numbers for sparse losses, or so many for each row as the loss says, (Rows, Columns) floats
///   otherwise;
/// - `prediction`: (Rows, Columns); probabilities, or logits if `Loss.from_logits`;
/// - `scale`: (Rows). As in Keras, a row with scale 0 whose loss is NaN gives NaN, since 0 times NaN does;
/// - `gradient`: (Rows, Columns), written; null if it is not wanted. May be `prediction`;
/// - `row_loss`: (Rows), the losses without scale; null if they are not wanted;
/// - `valid_rows`: the rows after these only fill the batch. They give 0 and the gradient 0, whatever they hold.
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
