// SPDX-License-Identifier: BSD-3-Clause
// Losses whose rows are whole samples: losses along another axis than the last one, Keras's argument `axis`, and losses
// with an `of_sample`, such as ctc.
#pragma once

#include <stagecraft/graph/shape.hpp>
#include <stagecraft/losses/loss.hpp>
#include <stagecraft/losses/reduction.hpp>

namespace stagecraft::losses::detail {

/// Most values of a sample, and so of a row, of a loss along another axis than the last one. The limit keeps a row's
/// memory small.
inline constexpr int most_values_along_axis = 16384;

/// The axis of a loss or a metric, as Keras counts: 0 is the batch.
template <class Loss>
constexpr int axis_of([[maybe_unused]] Loss const& loss) {
  if constexpr (requires { loss.axis; })
    return loss.axis;
  else
    return -1;
}
/// The number of an axis among those of one sample; -1 if the sample has no such axis.
constexpr int axis_of_sample(int axis, shape const& sample) {
  int const found = axis < 0 ? axis + sample.rank() : axis - 1;
  return axis != 0 && found >= 0 && found < sample.rank() ? found : -1;
}
/// True if a sample is one row of a loss, since it runs along an axis that is not the last one.
constexpr bool has_sample_as_row(int axis, shape const& sample) {
  int const found = axis_of_sample(axis, sample);
  return found >= 0 && found < sample.rank() - 1 && sample.size() <= most_values_along_axis;
}

/// The loss of a sample, or its number in a metric: the mean over its vectors along an axis, or their sum if the
/// reduction says so. The sample is (outer, length, inner), and the vectors lie along the axis in the middle. Targets
/// that are class numbers are (outer, inner).
template <class Loss>
struct along_axis {
  static constexpr std::string_view name = Loss::name;
  static constexpr bool sparse_targets = Loss::sparse_targets;

  Loss of;                      ///< the loss of one vector
  losses::reduction reduction;  ///< reduction of the loss
  int outer = 1;                ///< product of the lengths of earlier axes
  int length = 1;               ///< length of a vector
  int inner = 1;                ///< product of the lengths of later axes

  constexpr along_axis(Loss const& loss, shape const& sample, int axis) : of(loss), reduction(reduction_of(loss)) {
    int const middle = axis_of_sample(axis, sample);
    outer = sample.size(0, middle);
    length = sample[middle];
    inner = sample.size(middle + 1, sample.rank());
  }

  constexpr auto call(auto& ops, auto target, auto output) const {
    auto const vectors = [&](auto x) {
      return ops.reshape(ops.transpose(ops.reshape(x, {outer, length, inner}), {0, 2, 1}), {outer * inner, length});
    };
    auto const targets = sparse_targets ? ops.reshape(target, {outer * inner, 1}) : vectors(target);
    auto const each = ops.mean(stagecraft::detail::call_loss(of, ops, targets, vectors(output)), -1);
    auto const all = ops.reshape(each, {1, outer * inner});
    return is_summed(of) ? ops.sum(all, -1) : ops.mean(all, -1);
  }

  /// Number of class numbers in a sample's targets.
  [[nodiscard]] constexpr int class_numbers() const { return outer * inner; }

  friend constexpr bool operator==(along_axis const&, along_axis const&) = default;
};

/// A loss of whole samples, with a member that returns the loss for samples of a shape.
template <class Loss>
concept HasLossOfSample = requires(Loss const& loss, shape const& sample) { loss.of_sample(sample); };

/// True if each row of a loss is a sample.
template <class Loss>
constexpr bool takes_samples(Loss const& loss, shape const& sample) {
  return HasLossOfSample<Loss> || has_sample_as_row(axis_of(loss), sample);
}
/// The loss whose rows are samples of this shape, if there is one; else the loss itself.
template <class Loss>
constexpr auto loss_of_sample(Loss const& loss, shape const& sample) {
  if constexpr (HasLossOfSample<Loss>)
    return loss.of_sample(sample);
  else
    return along_axis(loss, sample, loss.axis);
}

}  // namespace stagecraft::losses::detail
