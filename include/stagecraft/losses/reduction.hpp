// SPDX-License-Identifier: BSD-3-Clause
// How the losses of the rows of a batch become one number.
// Keras counterpart: tf.keras.losses.Reduction.
#pragma once

#include <string_view>  // for names of losses

namespace stagecraft::losses {

/// The rule that makes one number of the losses of rows, each times its sample weight. It is as wide as the members
/// before it in losses: Clang 19 reads a member of a template argument in a wrong place if the argument has holes
/// inside and at its end.
enum class reduction : int {
  sum_over_batch_size,  ///< their sum divided by their number: Keras's default, AUTO
  sum,                  ///< their sum
  /// Losses stay apart: as in Keras, the gradient is that of their sum, and their mean is reported, in which a batch
  /// that is not full counts less than its share. E4106 beside losses that return one number for a batch.
  none
};

namespace detail {

/// The reduction of any loss; the user's own may have a member `reduction`, too.
template <class Loss>
constexpr reduction reduction_of([[maybe_unused]] Loss const& loss) {
  if constexpr (requires { loss.reduction == reduction::sum; })
    return loss.reduction;
  else
    return reduction::sum_over_batch_size;
}
/// True if the gradient is that of the sum over the rows.
template <class Loss>
constexpr bool is_summed(Loss const& loss) {
  return reduction_of(loss) != reduction::sum_over_batch_size;
}

}  // namespace detail

}  // namespace stagecraft::losses
