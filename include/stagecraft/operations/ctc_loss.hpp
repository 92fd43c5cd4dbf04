// SPDX-License-Identifier: BSD-3-Clause
// Connectionist temporal classification: the probability of a sequence of labels, summed over all steps where they may
// stand. Keras counterpart: keras.ops.ctc_loss, and tf.keras.backend.ctc_batch_cost.
#pragma once

#include <stagecraft/operations/tracer.hpp>
#include <limits>

namespace stagecraft::operations {

/// - `target`: (batch, labels), class numbers, of which the first `target_length` of a sample count;
/// - `output`: (batch, steps, classes), logits;
/// - `target_length`: (batch, 1); `output_length`: (batch, 1), the steps that count, or nothing: all of them;
/// - `mask_index`: the class that stands for no label, from the end if negative.
///
/// Returns (batch, 1): -log of the sum, over all ways to place the labels in their order on the steps, each for one
/// step or several, with the blank class elsewhere and between equal labels, of the product of the steps'
/// probabilities. A sample whose labels need more steps than it has returns infinity and a gradient of 0; TensorFlow
/// returns a number above 700. `ctc_batch_cost(y_true, y_pred, input_length, label_length)` of probabilities is
/// `ops.ctc_loss(y_true, log(y_pred + 1e-7F), label_length, input_length, -1)`. Errors: E1070.
///
/// Computes the forward variables (alpha) of Graves's paper in logarithms: a scan makes one trip for each step, and
/// keeps a state for each label and for each blank before, between and after the labels.
constexpr tensor tracer::ctc_loss(tensor target, tensor output, tensor target_length, tensor output_length,
                                  int mask_index) {
  if (target.rank() != 2 || output.rank() != 3 || target.length(0) != output.length(0))
    return detail::refused(output, "are no logits (batch, steps, classes) of labels @", {}, {target.shape()});
  int const batch = output.length(0), steps = output.length(1), classes = output.length(2), labels = target.length(1);
  int const states = 2 * labels + 1, blank = mask_index < 0 ? mask_index + classes : mask_index;
  if (blank < 0 || blank >= classes) return detail::refused(output, "has no class #, the mask index", {mask_index});
  extents const column{batch, 1}, row{batch, states};
  if (target_length.shape() != column || (output_length.list != nullptr && output_length.shape() != column))
    return detail::refused(output, "has lengths of another shape than @", {}, {column});

  // Stands for the logarithm of 0: it is far below that of any product of probabilities, and finite, so that
  // differences are numbers.
  constexpr float none = -1e30F;
  tensor const shifted = output - stop_gradient(max(output, -1));
  tensor const logarithms = maximum(shifted - log(sum(exp(shifted), -1)), none);

  tensor const pairs =
      concatenate({full({batch, labels, 1}, static_cast<float>(blank)), reshape(target, {batch, labels, 1})});
  tensor const class_of_state =
      concatenate({reshape(pairs, {batch, 2 * labels}), full(column, static_cast<float>(blank))});
  tensor const table = reshape(transpose(logarithms, {0, 2, 1}), {batch * classes, steps});
  tensor const emitted =
      take(table, batch == 1 ? class_of_state : class_of_state + iota(column, 0) * static_cast<float>(classes));

  // A label follows the one before it without a blank, if they differ.
  tensor const two_before =
      concatenate({full({batch, 2}, static_cast<float>(blank)), slice(class_of_state, 1, 0, states - 2)});
  tensor const is_other = 1.0F - equal(class_of_state, two_before);
  tensor const skips = is_other * (1.0F - equal(class_of_state, static_cast<float>(blank)));
  auto const after = [&](tensor x, int count) {
    return concatenate({full({batch, count}, none), slice(x, 1, 0, states - count)});
  };
  auto const step = [&](tensor here, std::array<tensor, 1> const& before) {
    tensor const same = before[0], next = after(same, 1), skipped = where(skips, after(same, 2), none);
    tensor const most = stop_gradient(maximum(maximum(same, next), skipped));
    tensor const paths = exp(same - most) + exp(next - most) + exp(skipped - most);
    return std::array{most + log(paths) + here};
  };
  tensor const number = iota(row);
  tensor counts;
  if (output_length.list != nullptr) counts = reshape(iota({batch, steps}) < output_length, {batch, 1, steps});
  auto const scanned = scan(emitted, 2, std::array{where(number < 0.5F, 0.0F, none)}, step, false, counts);

  // Paths end with the last label, or with the blank after it.
  tensor const last = target_length * 2.0F;
  tensor const ends = where(equal(number, last) + equal(number, last - 1.0F), scanned.last[0], none);
  tensor const most = stop_gradient(max(ends, -1));
  tensor const loss = -(most + log(sum(exp(ends - most), -1)));
  return where(loss > -none / 2, std::numeric_limits<float>::infinity(), loss);
}

}  // namespace stagecraft::operations
