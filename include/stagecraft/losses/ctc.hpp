// SPDX-License-Identifier: BSD-3-Clause
// Connectionist temporal classification: sequences of labels that no one has placed in time, as in speech and writing.
// Keras counterpart: keras.losses.CTC.
#pragma once

#include <stagecraft/graph/shape.hpp>
#include <stagecraft/losses/reduction.hpp>
#include <stagecraft/operations/ctc_loss.hpp>

namespace stagecraft::losses {

namespace detail {
struct ctc_of_sample;
}  // namespace detail

/// -log p(labels), summed over all ways to place the labels on the steps; prediction (steps, classes), logits. Targets
/// are (max_label_length) class numbers from 1 on, and 0, the class of the blank, after the last label. The loss of a
/// sample is one number, its reduction that over samples; a sample weight counts for the sample.
/// `ctc_decode` makes labels of logits. For other lengths of samples or another blank, as in Keras 2's
/// `ctc_batch_cost`, a layer calls `ops.ctc_loss` in its `add_loss`. Errors: E1130 for outputs that are no sequences,
/// E1131 max_label_length, E1132 for masked steps, E4131 beside metrics; when data come, E4004 for labels that are no
/// classes, E4132 a label after a 0, E4133 more labels than steps.
struct ctc {
  int max_label_length = 0;          ///< most labels of a sample: the width of targets; 0: the number of steps
  losses::reduction reduction = {};  ///< the reduction of the losses of samples: their sum, divided by the batch size

  using listed_options = ctc;
  static constexpr std::string_view name = "ctc";
  static constexpr bool sparse_targets = true;
  static constexpr bool from_logits = true;  ///< Keras has no option for it either

  /// The loss of samples of this shape; each sample is one row.
  [[nodiscard]] constexpr detail::ctc_of_sample of_sample(shape const& sample) const;
};

namespace detail {

/// A sample as one row: (1, labels) and (1, steps classes).
struct ctc_of_sample {
  static constexpr std::string_view name = ctc::name;
  static constexpr bool sparse_targets = true;

  losses::reduction reduction;  ///< reduction of the loss
  int steps, classes, labels;
  int length;  ///< values of a row: all of the sample

  constexpr auto call(auto& ops, auto target, auto output) const {
    auto const count = ops.sum(1.0F - equal(target, 0.0F), -1);
    return ops.ctc_loss(target, ops.reshape(output, {1, steps, classes}), count);
  }
  /// Number of labels in a sample's targets.
  [[nodiscard]] constexpr int class_numbers() const { return labels; }

  friend constexpr bool operator==(ctc_of_sample const&, ctc_of_sample const&) = default;
};

}  // namespace detail

constexpr detail::ctc_of_sample ctc::of_sample(shape const& sample) const {
  int const steps = sample[0], classes = sample.back();
  return {reduction, steps, classes, max_label_length == 0 ? steps : max_label_length, sample.size()};
}

}  // namespace stagecraft::losses
