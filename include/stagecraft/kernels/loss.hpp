// SPDX-License-Identifier: BSD-3-Clause
// Value and gradient of the losses over a batch of rows; the losses themselves are in loss_*.hpp.
// Keras counterpart: tf.keras.losses. Level 4 of the house.
#pragma once

#include <stagecraft/kernels/loss_categorical.hpp>
#include <stagecraft/kernels/loss_elementwise.hpp>

#include <cstdint>
#include <type_traits>

namespace stagecraft::kernels {

/// What a loss takes as target: class numbers, or a float per prediction.
template <auto Loss>
using target_type = std::conditional_t<Loss.sparse_targets, std::int32_t, float>;

/// Returns sum over rows of scale[row] * loss(row), and writes the gradient of that sum by the predictions.
///
/// - `target`: (Rows) class numbers for sparse losses, (Rows, Columns) floats otherwise;
/// - `prediction`: (Rows, Columns); probabilities, or logits if `Loss.from_logits`;
/// - `scale`: (Rows). As in Keras, a row with scale 0 whose loss is NaN gives NaN, since 0 times NaN does;
/// - `gradient`: (Rows, Columns), written; null if it is not wanted. May be `prediction`;
/// - `row_loss`: (Rows), the losses without scale; null if they are not wanted;
/// - `valid_rows`: the rows after these only fill the batch. They give 0 and the gradient 0, whatever they hold.
///
/// A class number outside of [0, Columns) makes the loss and the row's gradient NaN. For an output that
/// comes from softmax or sigmoid, the plan has the loss of the logits carried out, as Keras does: see
/// program/logits.hpp.
template <auto Loss, int Rows, int Columns, class Arch = default_architecture>
inline float loss(target_type<Loss> const* target, float const* prediction, float const* scale, float* gradient,
                  float* row_loss = nullptr, std::int64_t valid_rows = Rows) {
  constexpr int target_columns = Loss.sparse_targets ? 1 : Columns;
  double total = 0;
  for (std::int64_t row = 0; row < Rows; ++row) {
    float* const row_gradient = gradient == nullptr ? nullptr : gradient + row * Columns;
    float value = 0;
    if (row < valid_rows) {
      value = loss_row<Loss, Columns, Arch>::evaluate(target + row * target_columns, prediction + row * Columns,
                                                      scale[row], row_gradient);
      total += static_cast<double>(scale[row]) * static_cast<double>(value);
    } else if (row_gradient != nullptr) {
      for (int column = 0; column < Columns; ++column) row_gradient[column] = 0;
    }
    if (row_loss != nullptr) row_loss[row] = value;
  }
  return static_cast<float>(total);
}

}  // namespace stagecraft::kernels
